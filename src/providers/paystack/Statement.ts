import { Effect, Option, Result, type Schema } from "effect"
import { isCurrency } from "../../domain/Currency.ts"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { iso } from "../../domain/Instant.ts"
import type { StatementLine } from "../../domain/Reconciliation.ts"
import type { Client, Deadline } from "../Client.ts"
import { decoded } from "../Reading.ts"
import type { ProviderResponse } from "../Transport.ts"
import { fromSubunits, fromSubunitsUp } from "./Amounts.ts"
import { noAnswer } from "./Reading.ts"
import { listedCharge } from "./TranslateCharge.ts"
import { instant, listedTransfer } from "./TranslateTransfer.ts"
import { ownReference, type Transaction, TransactionsAnswer, type Transfer, TransfersAnswer } from "./Wire.ts"

const PAGE_SIZE = 100
/** Of one day and kind; more cannot be read to the end. */
const MAXIMUM_PAGES = 1000

/** Charges and transfers that began on a UTC day. */
export const statement = (client: Client, deadline: Deadline) => {
  const pages = Effect.fnUntraced(function* <Row>(
    path: string,
    schema: Schema.ConstraintDecoder<{ readonly data: ReadonlyArray<Row> }>,
    day: string
  ) {
    const rows: Array<Row> = []
    for (let page = 1; page <= MAXIMUM_PAGES; page++) {
      const query = { from: `${day}T00:00:00.000Z`, to: `${day}T23:59:59.999Z`, perPage: String(PAGE_SIZE), page: String(page) }
      const call = { operation: "statement", method: "GET", path: `${path}?${new URLSearchParams(query)}` } as const
      const response: ProviderResponse = yield* client(call, yield* deadline)
      const answer = decoded(schema, response)
      if (Option.isNone(answer)) return yield* unreadable(noAnswer(response).alarm)
      rows.push(...answer.value.data)
      if (answer.value.data.length < PAGE_SIZE) return rows
    }
    return yield* unreadable("a day's list at Paystack does not end")
  })

  return Effect.fn("paystack.statement")(function* (day: string) {
    const charges = yield* pages("/transaction", TransactionsAnswer, day)
    const transfers = yield* pages("/transfer", TransfersAnswer, day)
    const lines = [...charges.map(chargeLine), ...transfers.map(transferLine)].filter((line) => line !== "foreign")
    const readable = lines.filter((line) => line !== "unreadable")
    if (readable.length < lines.length) return yield* unreadable("a line of Paystack's lists cannot be read")
    return readable.filter(({ at }) => iso(at).startsWith(day))
  })
}

const unreadable = Effect.fnUntraced(function* (alarm: string | null) {
  if (alarm !== null) yield* Effect.logError(alarm)
  return yield* new ProviderError()
})

/** Foreign: of a currency that the gateway does not know, hence none of its movements. */
type Line = StatementLine | "foreign" | "unreadable"

const chargeLine = ({ fees, id, status, ...wire }: typeof Transaction.Type): Line =>
  lineOf({ ...wire, direction: "collection", providerReference: id, fee: fees ?? null, status: listedCharge(status) })

const transferLine = ({ fee_charged, status, transfer_code, ...wire }: typeof Transfer.Type): Line =>
  lineOf({
    ...wire,
    direction: "payout",
    providerReference: transfer_code,
    fee: fee_charged ?? null,
    status: listedTransfer(status)
  })

interface Listed extends Pick<typeof Transaction.Type, "amount" | "currency" | "reference" | "created_at" | "createdAt"> {
  readonly direction: "collection" | "payout"
  readonly providerReference: string
  readonly fee: string | null
  readonly status: StatementLine["status"] | undefined
}

const lineOf = ({
  amount,
  created_at,
  createdAt,
  currency,
  direction,
  fee,
  providerReference,
  reference,
  status
}: Listed): Line => {
  if (!isCurrency(currency)) return "foreign"
  const units = fromSubunits(amount, currency)
  const charged = fee === null ? Result.succeed(null) : fromSubunitsUp(fee, currency)
  const at = instant(createdAt ?? created_at ?? null)
  if (Result.isFailure(units) || Result.isFailure(charged) || at === null || status === undefined) return "unreadable"
  return {
    direction,
    providerReference,
    reference: ownReference(reference) ?? reference,
    amount: units.success,
    currency,
    fee: charged.success,
    status,
    at
  }
}

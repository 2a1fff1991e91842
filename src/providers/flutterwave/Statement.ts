import { DateTime, Effect, Option, type Schema } from "effect"
import { isCurrency } from "../../domain/Currency.ts"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { Provider } from "../../services/ports/Provider.ts"
import type { Client, Deadline } from "../Client.ts"
import { read } from "../Reading.ts"
import { noAnswer } from "./Reading.ts"
import { chargeStanding, chargeSum, transferStanding, transferSum } from "./Translate.ts"
import { type Transaction, TransactionsAnswer, type Transfer, TransfersAnswer } from "./Wire.ts"

type Lines = Effect.Success<ReturnType<NonNullable<Provider["statement"]>>>
type Line = Lines[number]

/** A day of more pages than these is not read at all: half a statement would name differences that are none. */
const MAXIMUM_PAGES = 10_000
const DAY_MS = 86_400_000

/** All charges and transfers that began on a UTC day. Flutterwave's days may have another time zone: their neighbours are read too. */
export const statement = (client: Client, deadline: Deadline): NonNullable<Provider["statement"]> =>
  Effect.fn("flutterwave.statement")(function* (day) {
    const start = DateTime.toEpochMillis(DateTime.makeUnsafe(`${day}T00:00:00Z`))
    const list = listing(client, deadline, start)
    const charges = yield* list("transactions", TransactionsAnswer, chargeLine)
    const transfers = yield* list("transfers", TransfersAnswer, transferLine)
    return [...charges, ...transfers].filter(({ at }) => at >= start && at < start + DAY_MS)
  })

interface Page<A> {
  readonly data: ReadonlyArray<A>
  readonly meta?: { readonly page_info: { readonly total_pages: string } }
}

const listing = (client: Client, deadline: Deadline, start: Instant) =>
  Effect.fnUntraced(function* <A extends { readonly id: string }>(
    name: "transactions" | "transfers",
    schema: Schema.ConstraintDecoder<Page<A>>,
    lineOf: (one: A) => Line | "other" | undefined
  ) {
    const lines: Array<Line> = []
    for (let page = 1; page <= MAXIMUM_PAGES; page++) {
      const days = { from: dayOf(start - DAY_MS), to: dayOf(start + DAY_MS) }
      const path = `/${name}?${new URLSearchParams({ ...days, page: String(page) })}`
      const response = yield* client({ operation: name, method: "GET", path }, yield* deadline)
      const { data, meta } = yield* read(schema, response, noAnswer)
      for (const one of data) {
        const line = lineOf(one)
        if (line === undefined) {
          yield* Effect.logError("a line of Flutterwave's statement cannot be read", { provider_reference: one.id })
          return yield* new ProviderError()
        }
        if (line !== "other") lines.push(line)
      }
      // Without the number of pages the first empty one is the end.
      if (meta === undefined ? data.length === 0 : page >= Number(meta.page_info.total_pages)) return lines
    }
    return yield* new ProviderError()
  })

const dayOf = (at: Instant): string => iso(at).slice(0, "2026-01-31".length)

/** `other`: in a currency that the gateway does not know. Undefined: cannot be read. */
const chargeLine = (charge: typeof Transaction.Type) =>
  lineFrom("collection", charge, charge.tx_ref, chargeStanding(charge.status), chargeSum(charge))

const transferLine = (transfer: typeof Transfer.Type) =>
  lineFrom("payout", transfer, transfer.reference, transferStanding(transfer.status), transferSum(transfer))

const lineFrom = (
  direction: Line["direction"],
  { created_at, currency, id }: Pick<typeof Transaction.Type, "id" | "created_at" | "currency">,
  reference: string | null | undefined,
  status: Line["status"] | undefined,
  sum: ReturnType<typeof chargeSum>
): Line | "other" | undefined => {
  if (!isCurrency(currency)) return "other"
  const at = Option.getOrUndefined(Option.map(DateTime.make(created_at ?? ""), DateTime.toEpochMillis))
  return status === undefined || sum === undefined || at === undefined
    ? undefined
    : { direction, providerReference: id, reference: reference ?? null, ...sum, status, at }
}

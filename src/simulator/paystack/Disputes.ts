import { Effect, Option, Schema } from "effect"
import { iso } from "../../domain/Instant.ts"
import { toSubunits } from "../../providers/paystack/Amounts.ts"
import { ownTransactions, pageOf } from "../Call.ts"
import type { OutgoingCallback, SimulatedTransaction } from "../Facts.ts"
import { callbackFact, takenBackFacts } from "../Movements.ts"
import { movementWith, order } from "../Orders.ts"
import type { Order } from "../SimulatedProvider.ts"
import { type Call, type PaystackAccount, success } from "./Responses.ts"
import { domainOf, eventBody, partOf, wireReferenceOf } from "./Transactions.ts"

const NAME = "paystack"
/** How long a merchant has to answer, in milliseconds. */
const ANSWERED_WITHIN_MS = 2 * 86_400_000

/** The documented values. */
const standing = {
  status: Schema.Literals(["awaiting-merchant-feedback", "awaiting-bank-feedback", "pending", "resolved"]),
  resolution: Schema.NullOr(Schema.Literals(["merchant-accepted", "auto-accepted", "declined"]))
}

// The account stores one dispute per charge, as a note.
const Dispute = Schema.fromJsonString(Schema.Struct({ ...standing, createdAt: Schema.Int, updatedAt: Schema.Int }))
type Dispute = typeof Dispute.Type
const readDispute = Schema.decodeUnknownOption(Dispute)
const writeDispute = Schema.encodeSync(Dispute)
const noteOf = ({ account, id }: SimulatedTransaction) => `${NAME}/${account}/dispute/${id}`

/** The fields of a dispute that the list and the events share; each writes its times in its own form. */
const disputeOf = (charge: SimulatedTransaction, { createdAt, resolution, status, updatedAt }: Dispute) => {
  const amount = toSubunits(charge.amount, charge.currency)
  return {
    id: BigInt(charge.id) + 2n,
    refund_amount: amount,
    currency: charge.currency,
    status,
    resolution,
    domain: domainOf(charge),
    transaction: {
      id: BigInt(charge.id),
      reference: wireReferenceOf(charge),
      status: charge.returned ? "reversed" : "success",
      amount
    },
    transaction_reference: null,
    merchant_transaction_reference: null,
    category: "chargeback",
    customer: {},
    bin: null,
    last4: null,
    dueAt: iso(createdAt + ANSWERED_WITHIN_MS),
    resolvedAt: status === "resolved" ? iso(updatedAt) : null,
    evidence: null,
    history: [{ status, by: "somebody@bank.example", created_at: iso(updatedAt) }],
    messages: []
  }
}

/** GET /dispute, newest first; `transaction` names one charge by its number. */
export const listDisputes = Effect.fnUntraced(function* (call: Call) {
  const { isWithin, page, size, status, transaction } = yield* partOf(call)
  const found = ownTransactions(call, "collection").flatMap((charge) => {
    const dispute = Option.getOrUndefined(readDispute(call.context.account.note(noteOf(charge))))
    if (dispute === undefined || (transaction ?? charge.id) !== charge.id) return []
    return isWithin(dispute.createdAt) && (status ?? dispute.status) === dispute.status ? [{ charge, dispute }] : []
  })
  const { rows } = pageOf(found, { page, size })
  const data = rows.map(({ charge, dispute }) => ({
    ...disputeOf(charge, dispute),
    createdAt: iso(dispute.createdAt),
    updatedAt: iso(dispute.updatedAt)
  }))
  return success("Disputes retrieved", data, { total: found.length, skipped: (page - 1) * size, perPage: size, page })
})

const Wish = Schema.Struct({
  client_reference: Schema.String,
  ...standing,
  /** When the dispute was opened, where that is not now. */
  created_at: Schema.optionalKey(Schema.Int),
  callback: Schema.Boolean
})

/** A payer's bank disputes a charge, or an existing dispute changes. An accepted amount is taken from the merchant. */
export const disputeOrder = (
  accounts: ReadonlyArray<PaystackAccount>,
  sent: (charge: SimulatedTransaction, body: string) => OutgoingCallback
): Order =>
  order(Wish, (context, { callback, client_reference, created_at, resolution, status }, now) => {
    const charge = movementWith(context, NAME, accounts, client_reference)
    if (charge?.kind !== "collection" || charge.status !== "successful") return Effect.succeed("no charge that succeeded")
    const before = Option.getOrUndefined(readDispute(context.account.note(noteOf(charge))))
    const dispute = { status, resolution, createdAt: before?.createdAt ?? created_at ?? now, updatedAt: created_at ?? now }
    const isTaken = resolution !== null && resolution !== "declined" && !charge.returned
    const event = before === undefined ? "create" : status === "resolved" ? "resolve" : "remind"
    const shown = {
      ...disputeOf({ ...charge, returned: charge.returned || isTaken }, dispute),
      created_at: iso(dispute.createdAt)
    }
    const body = eventBody(`charge.dispute.${event}`, shown)
    return Effect.as(
      context.commit([
        ...(isTaken ? takenBackFacts(charge, now) : []),
        { fact: "note", key: noteOf(charge), value: writeDispute(dispute) },
        ...(callback ? [callbackFact(charge, `dispute-${event}-${now}`, now, sent(charge, body))] : [])
      ]),
      null
    )
  })

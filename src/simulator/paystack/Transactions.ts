import { Effect, Schema } from "effect"
import { iso } from "../../domain/Instant.ts"
import { json } from "../../domain/Json.ts"
import { toSubunits } from "../../providers/paystack/Amounts.ts"
import { ownReference } from "../../providers/paystack/Wire.ts"
import { byReference, ownTransactions, pageOf } from "../Call.ts"
import type { PlannedCallback } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { decodedOr } from "../Responses.ts"
import { type Call, refuse, refusePlainly, success } from "./Responses.ts"

const LARGEST_PAGE = 100

/** The reference under which the account stores one of the wire: ours in capitals, any other unchanged. */
export const accountReference = (wire: string): string => ownReference(wire) ?? wire

export const wireReferenceOf = ({ detail, id }: SimulatedTransaction): string => detail.reference ?? id

export const findBy = (call: Call, kind: SimulatedTransaction["kind"], reference: string): SimulatedTransaction | undefined =>
  byReference(call, kind, accountReference(reference)).find((one) => wireReferenceOf(one) === reference)

export const domainOf = ({ account }: SimulatedTransaction): string => (account.includes("live") ? "live" : "test")

/** How long a charge waits for its voucher, in milliseconds. */
const VOUCHER_LIFE_MS = 600_000

export const isAbandoned = ({ awaitsPayer, createdAt, detail }: SimulatedTransaction, now: number): boolean =>
  awaitsPayer && detail.prompt === "voucher" && now - createdAt > VOUCHER_LIFE_MS

const chargeStatus = (charge: SimulatedTransaction, now: number): string => {
  if (isAbandoned(charge, now)) return "abandoned"
  return charge.returned ? "reversed" : { pending: "ongoing", successful: "success", failed: "failed" }[charge.status]
}

/** A charge as verify, the list and the callbacks write it. Fees are known once it succeeded. */
export const chargeOf = (charge: SimulatedTransaction, now: number) => ({
  id: BigInt(charge.id),
  domain: domainOf(charge),
  status: chargeStatus(charge, now),
  reference: wireReferenceOf(charge),
  amount: toSubunits(charge.amount, charge.currency),
  requested_amount: BigInt(charge.detail.requested ?? "0"),
  message: charge.reason,
  gateway_response: charge.status === "successful" ? "Approved" : (charge.reason ?? "The transaction was not completed"),
  paid_at: charge.status === "successful" ? iso(charge.updatedAt) : null,
  created_at: iso(charge.createdAt),
  createdAt: iso(charge.createdAt),
  channel: "mobile_money",
  currency: charge.currency,
  fees: charge.status === "successful" ? toSubunits(charge.fee, charge.currency) : null,
  customer: { id: 1, email: charge.detail.email ?? null, customer_code: "CUS_simulated" }
})

const transferStatus = ({ returned, status }: SimulatedTransaction): string =>
  returned ? "reversed" : { pending: "pending", successful: "success", failed: "failed" }[status]

/** A transfer in the response to POST /transfer, without a fee. */
export const transferOf = (transfer: SimulatedTransaction) => ({
  id: BigInt(transfer.detail.numeric ?? "0"),
  domain: domainOf(transfer),
  status: transferStatus(transfer),
  reference: wireReferenceOf(transfer),
  amount: toSubunits(transfer.amount, transfer.currency),
  currency: transfer.currency,
  source: "balance",
  source_details: null,
  reason: transfer.detail.reason ?? "",
  failures: null,
  transfer_code: transfer.id,
  titan_code: null,
  transferred_at: null,
  integration: 463433,
  createdAt: iso(transfer.createdAt),
  updatedAt: iso(transfer.updatedAt)
})

/** As verify and the list write it, with the transfer's cost. */
const transferWithFee = (transfer: SimulatedTransaction) => ({
  ...transferOf(transfer),
  recipient: {
    recipient_code: transfer.detail.recipient ?? null,
    details: { account_number: transfer.detail.accountNumber ?? null }
  },
  session: sessionOf(transfer),
  fee_charged: transfer.status === "successful" ? toSubunits(transfer.fee, transfer.currency) : 0n,
  fees_breakdown: null,
  gateway_response: transfer.reason
})

/** For a transfer to a bank in Nigeria that arrived: the number under which both banks know it. */
const sessionOf = ({ createdAt, currency, status }: SimulatedTransaction) =>
  currency === "NGN" && status === "successful"
    ? { provider: "nip", id: `0000${String(createdAt).padEnd(26, "0")}` }
    : { provider: null, id: null }

/** GET /transaction/verify/{reference} */
export const verifyCharge = Effect.fnUntraced(function* (call: Call, reference: string) {
  const found = findBy(call, "collection", reference)
  if (found === undefined) return yield* refuse(404, "Transaction reference not found.", "transaction_not_found")
  return success("Verification successful", chargeOf(found, call.now))
})

/** GET /transfer/verify/{reference} */
export const verifyTransfer = Effect.fnUntraced(function* (call: Call, reference: string) {
  const found = findBy(call, "payout", reference)
  if (found === undefined) return yield* refusePlainly(404, "Transfer not found")
  return success("Transfer retrieved", transferWithFee(found))
})

const Positive = Schema.String.check(Schema.isPattern(/^[1-9]\d{0,6}$/))
const Moment = Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}(T[\d:.]+Z?)?$/))
const Filters = Schema.Struct({
  from: Schema.optionalKey(Moment),
  to: Schema.optionalKey(Moment),
  page: Schema.optionalKey(Positive),
  perPage: Schema.optionalKey(Positive),
  status: Schema.optionalKey(Schema.String),
  transaction: Schema.optionalKey(Schema.String)
})

/** The part of a list that a call requests. */
export const partOf = Effect.fnUntraced(function* ({ request }: Call) {
  const wished = yield* decodedOr(Filters, Object.fromEntries(request.query), (why) => refuse(400, why))
  const { from = "", page = "1", perPage = "50", to = "9999", ...filters } = wished
  const isWithin = (at: number): boolean => iso(at) >= from && iso(at) <= to
  return { ...filters, isWithin, page: Number(page), size: Math.min(Number(perPage), LARGEST_PAGE) }
})

/** GET /transaction and GET /transfer, newest first. */
const listed = (kind: SimulatedTransaction["kind"], written: (one: SimulatedTransaction, now: number) => object) =>
  Effect.fnUntraced(function* (call: Call) {
    const { isWithin, page, size } = yield* partOf(call)
    const found = ownTransactions(call, kind).filter(({ createdAt }) => isWithin(createdAt))
    const { pages, rows, total } = pageOf(found, { page, size })
    const meta = { total, skipped: (page - 1) * size, perPage: size, page, pageCount: pages }
    const data = rows.map((one) => written(one, call.now))
    return success("Retrieved", data, meta)
  })

export const listCharges = listed("collection", chargeOf)
export const listTransfers = listed("payout", transferWithFee)

/** GET /refund: here, every charge that was taken back was refunded. `transaction` names one charge by its number. */
export const listRefunds = Effect.fnUntraced(function* (call: Call) {
  const { page = "1", transaction = null } = Object.fromEntries(call.request.query)
  const found = ownTransactions(call, "collection").filter(({ id, returned }) => returned && (transaction ?? id) === id)
  const refunds = found.map((charge) => ({
    id: BigInt(charge.id) + 1n,
    transaction: BigInt(charge.id),
    transaction_reference: wireReferenceOf(charge),
    amount: toSubunits(charge.amount, charge.currency),
    currency: charge.currency,
    status: "processed",
    createdAt: iso(charge.updatedAt)
  }))
  return yield* Effect.succeed(success("Refunds retrieved", page === "1" ? refunds : []))
})

const words = { successful: "success", failed: "failed", pending: "pending" } as const

// With white space that no serialiser would produce, so that a signature check passes only over the bytes as sent.
export const callbackBody = (transaction: SimulatedTransaction, says: PlannedCallback["says"]): string => {
  const { kind, returned } = transaction
  const word = words[says]
  if (kind === "payout")
    return eventBody(`transfer.${returned ? "reversed" : word}`, {
      ...transferOf(transaction),
      ...(returned ? {} : { status: word })
    })
  const charge = chargeOf(transaction, transaction.updatedAt)
  if (!returned) return eventBody(`charge.${word}`, { ...charge, status: word })
  const { amount, currency, reference } = charge
  return eventBody("refund.processed", { status: "processed", transaction_reference: reference, amount, currency })
}

export const eventBody = (event: string, data: object): string =>
  `{ "event" :${JSON.stringify(event)},\n\t"data":  ${json(data)} \n}\n`

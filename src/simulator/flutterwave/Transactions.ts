import { Effect } from "effect"
import { iso } from "../../domain/Instant.ts"
import { json } from "../../domain/Json.ts"
import { plainNumber } from "../../providers/WireNumber.ts"
import { byId, byReference, isWithinDays, ownTransactions, pageOf } from "../Call.ts"
import type { PlannedCallback } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { type Call, refuse, success } from "./Responses.ts"

const PAGE_SIZE = 20
const REVERSED = "DISBURSE FAILED: Transfer was reversed by the beneficiary's bank"

/** A charge that waits for its payer on a page is not listed yet. */
const isThere = ({ awaitsPayer }: SimulatedTransaction): boolean => !awaitsPayer

/** GET /transactions/verify_by_reference?tx_ref=…: the last one of several with one tx_ref. */
export const verifyByReference = Effect.fnUntraced(function* (call: Call) {
  const found = byReference(call, "collection", call.request.query.get("tx_ref") ?? "").findLast(isThere)
  if (found === undefined) return yield* refuse(400, "No transaction was found for this reference")
  return success("Transaction fetched successfully", verifiedCharge(found))
})

/** GET /transactions/{id}/verify */
export const verify = Effect.fnUntraced(function* (call: Call, id: string) {
  const found = byId(call, "collection", id)
  if (found === undefined || !isThere(found)) return yield* refuse(400, "No transaction was found for this id")
  return success("Transaction fetched successfully", verifiedCharge(found))
})

/** GET /transfers/{id} */
export const transferById = Effect.fnUntraced(function* (call: Call, id: string) {
  const transfer = byId(call, "payout", id)
  if (transfer === undefined) return yield* refuse(400, "No transfer was found for this id")
  return success("Transfer fetched", transferData(transfer))
})

/** GET /transactions?from&to&status&tx_ref&page, newest first. */
export const listTransactions = (call: Call) => {
  const { query } = call.request
  const wanted = query.get("tx_ref")
  const status = query.get("status")
  const found = ownTransactions(call, "collection").filter(
    (one) => isThere(one) && (wanted === null || one.reference === wanted) && (status === null || one.status === status)
  )
  return listPage("Transactions fetched", found, query, verifiedCharge)
}

/** GET /transfers?reference&status&from&to&page, newest first. */
export const listTransfers = (call: Call) => {
  const { query } = call.request
  const wanted = query.get("reference")
  const status = query.get("status")?.toUpperCase()
  const all = wanted === null ? ownTransactions(call, "payout") : byReference(call, "payout", wanted)
  const found = all.filter((one) => status === undefined || transferData(one).status === status)
  return listPage("Transfers fetched", found, query, transferData)
}

/** GET /chargebacks?from&to&page: here, every charge that was taken back was disputed and lost. */
export const listChargebacks = (call: Call) => {
  const found = ownTransactions(call, "collection").filter(({ returned }) => returned)
  return listPage("Chargebacks retrieved", found, call.request.query, (charge) => ({
    id: Number(charge.id) + 1,
    amount: plainNumber(charge.amount, charge.currency),
    flw_ref: `FLW${charge.id}`,
    transaction_id: Number(charge.id),
    tx_ref: charge.reference,
    status: "lost",
    stage: "chargeback",
    created_at: iso(charge.updatedAt)
  }))
}

/** GET /refunds?from&to&page: the simulated account refunds nothing. */
export const listRefunds = (call: Call) => listPage("Refunds retrieved", [], call.request.query, () => ({}))

const listPage = (
  message: string,
  found: ReadonlyArray<SimulatedTransaction>,
  query: URLSearchParams,
  row: (one: SimulatedTransaction) => object
) => {
  const day = (name: string) => query.get(name)?.slice(0, 10)
  const page = Math.max(1, Number(/^\d{1,7}$/.exec(query.get("page") ?? "")?.[0] ?? "1"))
  const within = found.filter((one) => isWithinDays(one, day("from"), day("to")))
  const { pages, rows, total } = pageOf(within, { page, size: PAGE_SIZE })
  const meta = { page_info: { total, current_page: page, total_pages: pages } }
  const data = rows.map((one) => row(one))
  return Effect.succeed(success(message, data, { meta }))
}

const verifiedCharge = (charge: SimulatedTransaction) => {
  const isSettled = charge.status === "successful"
  return {
    ...chargeData(charge),
    amount_settled: isSettled ? plainNumber(charge.amount - charge.fee, charge.currency) : null,
    meta: null
  }
}

/** One charge, in every response and callback. One that was taken back stays successful: chargebacks are reported elsewhere. */
export const chargeData = (charge: SimulatedTransaction, status = charge.status) => {
  const { amount, currency, detail, fee } = charge
  return {
    id: Number(charge.id),
    tx_ref: charge.reference,
    flw_ref: `FLW${charge.id}`,
    device_fingerprint: "N/A",
    amount: plainNumber(amount, currency),
    charged_amount: plainNumber(amount, currency),
    app_fee: plainNumber(fee, currency),
    merchant_fee: 0,
    processor_response: charge.reason ?? (status === "pending" ? "Transaction in progress" : "Successful"),
    auth_model: detail.authModel,
    currency,
    ip: "::127.0.0.1",
    narration: "Gateway",
    status,
    payment_type: detail.paymentType,
    created_at: iso(charge.createdAt),
    account_id: 20937,
    customer: { id: 1998111, phone_number: detail.phone, name: "Anonymous customer", email: detail.email }
  }
}

const statuses = { pending: "PENDING", successful: "SUCCESSFUL", failed: "FAILED" } as const

/** One transfer. A transfer that came back after its delivery is FAILED: v3 has no other status for it. */
export const transferData = (transfer: SimulatedTransaction, says: keyof typeof statuses = transfer.status) => {
  const { amount, currency, detail, fee, returned } = transfer
  const status = returned ? "FAILED" : statuses[says]
  const complete = { PENDING: "", SUCCESSFUL: "Transaction was successful", FAILED: returned ? REVERSED : detail.failsWith }
  return {
    id: Number(transfer.id),
    account_number: detail.accountNumber,
    bank_code: detail.bankCode,
    full_name: detail.fullName,
    created_at: iso(transfer.createdAt),
    currency,
    debit_currency: currency,
    amount: plainNumber(amount, currency),
    fee: plainNumber(fee, currency),
    status,
    reference: transfer.reference,
    meta: null,
    narration: detail.narration,
    approver: null,
    complete_message: complete[status],
    requires_approval: 0,
    is_approved: 1,
    bank_name: detail.bankName
  }
}

// With white space that no serialiser would produce, as everywhere in the simulator.
export const callbackBody = (transaction: SimulatedTransaction, says: PlannedCallback["says"]): string => {
  if (transaction.kind === "payout") {
    const { full_name: fullname, ...data } = transferData(transaction, says)
    return `{ "event" : "transfer.completed",\n\t"event.type":"Transfer" ,"data":  ${json({ ...data, fullname })} }\n`
  }
  const data = chargeData(transaction, says)
  const type = `${String(transaction.detail.paymentType).toUpperCase()}_TRANSACTION`
  return `{ "event" : "charge.completed",\n\t"data":  ${json(data)} ,"event.type":"${type}" }\n`
}

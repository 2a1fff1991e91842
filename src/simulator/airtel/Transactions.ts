import { createHmac } from "node:crypto"
import { Effect, Redacted } from "effect"
import { json as exactJson } from "../../domain/Json.ts"
import type { PaymentKind } from "../../domain/Payment.ts"
import { plainNumber } from "../../providers/WireNumber.ts"
import { byId, newDigits, ownTransactions } from "../Call.ts"
import { sentOnce } from "../Callbacks.ts"
import type { PlannedCallback } from "../Endings.ts"
import type { OutgoingCallback, SimulatedTransaction } from "../Facts.ts"
import { response } from "../Responses.ts"
import { type Call, json, refuse, succeeded } from "./Responses.ts"

const words = { pending: "TIP", successful: "TS", failed: "TF" } as const

/** The codes that go with each status, and the one for a movement that is not found. */
const codes = {
  collection: { TIP: "DP00800001006", TS: "DP00800001001", TF: "DP00800001008", absent: "DP00800001025" },
  payout: { TIP: "DP00900001006", TS: "DP00900001001", TF: "DP00900001005", absent: "DP00900001015" }
} as const

/** A movement's GET, and a disbursement's response to its POST. A returned movement stays TS: there is no status for it. */
export const movement = (kind: PaymentKind, { detail, id, status: standing }: SimulatedTransaction) => {
  const status = words[standing]
  const receipts = kind === "payout" ? { reference_id: detail.receipt, airtel_money_id: `disbursement-8Q2-${id}` } : {}
  const own = kind === "collection" && status === "TS" ? { airtel_money_id: detail.receipt } : receipts
  return {
    data: { transaction: { ...own, id, message: "…", status } },
    status: succeeded({ response_code: codes[kind][status] })
  }
}

/** GET /standard/v1/payments/{id}, GET /standard/{v1,v2,v3}/disbursements/{id} */
export const movementStatus = (kind: PaymentKind) =>
  Effect.fnUntraced(function* (call: Call, id: string) {
    const found = byId(call, kind, id)
    if (found === undefined || found.currency !== call.merchant.country.currency)
      return yield* refuse({ response_code: codes[kind].absent, result_code: "ESB000045" }, "Transaction not found")
    return json(movement(kind, found))
  })

export const receiptOf = (call: Call): string =>
  `CI${newDigits(call).slice(0, 6)}.${newDigits(call).slice(6, 10)}.H${newDigits(call).slice(10)}`

const DEFAULT_LIMIT = 50

/** GET /merchant/v1/transactions: only collections, newest first; whether Airtel's also has disbursements is not known. */
export const summary = (call: Call) => {
  const { query } = call.request
  const [from, to] = [Number(query.get("from") ?? 0), Number(query.get("to") ?? Number.MAX_SAFE_INTEGER)]
  const [limit, offset] = [Number(query.get("limit") ?? DEFAULT_LIMIT), Number(query.get("offset") ?? 0)]
  const { currency } = call.merchant.country
  const all = ownTransactions(call, "collection")
    .filter((one) => one.currency === currency && one.createdAt >= from && one.createdAt <= to)
    .toReversed()
  const transactions = all.slice(offset, offset + limit).map(row)
  const body = exactJson({
    data: { count: transactions.length, transactions },
    status: succeeded({ response_code: "DP02100000001" })
  })
  return Effect.succeed(response(200, "application/json;charset=UTF-8", body))
}

const row = ({ amount, createdAt, currency, detail, fee, id, reference, returned, status }: SimulatedTransaction) => ({
  charges: { service: plainNumber(fee, currency) },
  payee: { currency, msisdn: "100200300", name: "SIMULATED MERCHANT" },
  payer: { currency, msisdn: detail.msisdn ?? "", name: "JOHN DOE" },
  service: { type: "MERCHPAY" },
  transaction: {
    airtel_money_id: detail.receipt,
    amount: plainNumber(amount, currency),
    created_at: createdAt,
    id,
    reference_number: reference,
    status: returned ? "TR" : words[status]
  }
})

/** Airtel sends callbacks about collections. A forged callback has a hash with another key. */
export const callbackOf =
  (keyOf: (transaction: SimulatedTransaction) => Redacted.Redacted | undefined) =>
  (transaction: SimulatedTransaction, { says, signature }: PlannedCallback): OutgoingCallback | null => {
    if (transaction.kind !== "collection") return null
    const { detail, id } = transaction
    const own = keyOf(transaction)
    const key = signature === "genuine" && own !== undefined ? Redacted.value(own) : "a forger's guess"
    const written = JSON.stringify({ id, message: "…", status_code: words[says], airtel_money_id: detail.receipt })
    const hash = createHmac("sha256", key).update(`{"transaction":${written}}`).digest("base64")
    return sentOnce(`{"transaction":${written},"hash":${JSON.stringify(hash)}}`)
  }

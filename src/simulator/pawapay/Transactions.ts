import { Effect } from "effect"
import { iso } from "../../domain/Instant.ts"
import { minor, toDecimal } from "../../domain/Money.ts"
import { byId } from "../Call.ts"
import type { PlannedCallback } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { type Call, json, reason, refuse } from "./Responses.ts"

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** GET /deposits/{id}, GET /payouts/{id} */
export const paymentStatus = (kind: "payout" | "collection") =>
  Effect.fnUntraced(function* (call: Call, id: string) {
    if (!UUID.test(id)) return yield* refuse(400, "INVALID_PARAMETER")
    const known = byId(call, kind, id)
    return json(200, known === undefined ? { status: "NOT_FOUND" } : { status: "FOUND", data: payment(known) })
  })

/** A payment as pawaPay shows it, or as a callback claims it to be. `metadata` is sent as a list and returned as one object. */
export const payment = (transaction: SimulatedTransaction, says?: PlannedCallback["says"]) => {
  const { amount, createdAt, currency, detail, id, kind, reference } = transaction
  const { country, customerMessage, metadata, phoneNumber, provider } = detail
  const status = statusOf(transaction, says)
  const account = { type: "MMO", accountDetails: { phoneNumber, provider } }
  return {
    ...(kind === "payout" ? { payoutId: id } : { depositId: id }),
    status,
    amount: toDecimal(minor(amount), currency),
    currency,
    country,
    ...(kind === "payout" ? { recipient: account } : { payer: account }),
    ...(typeof customerMessage === "string" ? { customerMessage } : {}),
    ...(reference === null ? {} : { clientReferenceId: reference }),
    created: iso(createdAt),
    ...(status === "COMPLETED" ? { providerTransactionId: String(createdAt) } : {}),
    metadata: JSON.parse(metadata ?? "{}"),
    ...(status === "FAILED" ? reason(detail.failureCode ?? "") : {})
  }
}

// Completed is final: pawaPay has no status for money that comes back later.
const statusOf = (transaction: SimulatedTransaction, says: PlannedCallback["says"] = transaction.status): string => {
  if (says !== "pending") return says === "successful" ? "COMPLETED" : "FAILED"
  if (transaction.ending === "0012") return "IN_RECONCILIATION"
  return transaction.kind === "payout" && transaction.ending === "0010" ? "ENQUEUED" : "PROCESSING"
}

import { Effect } from "effect"
import { minor, toDecimal } from "../../domain/Money.ts"
import type { Product } from "../../providers/mtn/Wire.ts"
import { byId } from "../Call.ts"
import { sentOnce } from "../Callbacks.ts"
import type { PlannedCallback } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { type Call, json, refuse } from "./Responses.ts"

export const kinds = { collection: "collection", disbursement: "payout" } as const satisfies Record<
  Product,
  SimulatedTransaction["kind"]
>

/** GET /collection/v1_0/requesttopay/{id}, GET /disbursement/v1_0/transfer/{id} */
export const paymentStatus = Effect.fnUntraced(function* (call: Call, id: string) {
  const payment = byId(call, kinds[call.merchant.product], id)
  if (payment === undefined) return yield* refuse(404, "RESOURCE_NOT_FOUND", "Requested resource was not found.")
  return json(200, statusBody(payment))
})

/** The default reason of a failure: the payer declined, or the recipient's side rejected it. */
const usualReasons = {
  collection: "APPROVAL_REJECTED",
  payout: "COULD_NOT_PERFORM_TRANSACTION",
  exchange: "NOT_ALLOWED"
} as const
const words = { pending: "PENDING", successful: "SUCCESSFUL", failed: "FAILED" } as const

/** A movement in its GET and its callback. One that came back after its delivery stays SUCCESSFUL: there is no status for it. */
const statusBody = (transaction: SimulatedTransaction, says: PlannedCallback["says"] = transaction.status) => {
  const { amount, currency, detail, kind, reference } = transaction
  const status = words[says]
  const party = { partyIdType: "MSISDN", partyId: detail.partyId ?? "" }
  return {
    ...(status === "SUCCESSFUL" ? { financialTransactionId: detail.financialTransactionId ?? "" } : {}),
    ...(reference === null ? {} : { externalId: reference }),
    amount: toDecimal(minor(amount), currency),
    currency,
    ...(kind === "collection" ? { payer: party } : { payee: party }),
    payerMessage: detail.payerMessage ?? "",
    payeeNote: detail.payeeNote ?? "",
    status,
    ...(status === "FAILED" ? { reason: detail.reason ?? usualReasons[kind] } : {})
  }
}

/** Sent once and unsigned. A forged callback does not differ from a genuine one in anything that could be checked. */
export const callbackOf = (
  transaction: SimulatedTransaction,
  { says, signature }: Pick<PlannedCallback, "says" | "signature">
) => {
  const forged = { ...transaction, detail: { ...transaction.detail, financialTransactionId: "1" } }
  const body = `${JSON.stringify(statusBody(signature === "genuine" ? transaction : forged, says), null, 1)}\n`
  return sentOnce(body, { method: transaction.kind === "collection" ? "PUT" : "POST" })
}

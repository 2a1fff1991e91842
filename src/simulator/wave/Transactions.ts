import { createHmac } from "node:crypto"
import { Effect } from "effect"
import { iso } from "../../domain/Instant.ts"
import { toDecimal } from "../../domain/Money.ts"
import { byReference } from "../Call.ts"
import { signedCallback } from "../Callbacks.ts"
import type { PlannedCallback } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { type Call, json } from "./Responses.ts"

export const isOfWallet = ({ merchant }: Call, { detail }: SimulatedTransaction): boolean =>
  detail.country === merchant.wallet.country

/** Its present state: it may have changed since it was created, where it was decided at once. */
export const current = ({ context, provider }: Call, made: SimulatedTransaction): SimulatedTransaction =>
  context.account.transaction(provider, made.id) ?? made

const written = (transaction: SimulatedTransaction): object =>
  transaction.kind === "payout" ? payoutData(transaction) : sessionData(transaction)

/** GET /v1/payouts/search, GET /v1/checkout/sessions/search */
export const search = (kind: "payout" | "collection") => (call: Call) => {
  const reference = call.request.query.get("client_reference") ?? ""
  const result = byReference(call, kind, reference).filter((found) => isOfWallet(call, found))
  return Effect.succeed(json(200, { result: result.map(written) }))
}

export const payoutData = (payout: SimulatedTransaction) => {
  const { amount, createdAt, currency, detail, fee, id, reference, returned, status } = payout
  const word = { pending: "processing", successful: returned ? "reversed" : "succeeded", failed: "failed" }[status]
  return {
    id,
    currency,
    receive_amount: toDecimal(amount, currency),
    fee: toDecimal(fee, currency),
    mobile: detail.mobile,
    ...(detail.name === null ? {} : { name: detail.name }),
    ...(reference === null ? {} : { client_reference: reference }),
    ...(detail.paymentReason === null ? {} : { payment_reason: detail.paymentReason }),
    status: word,
    ...(status === "failed"
      ? { payout_error: { error_code: detail.failure ?? "recipient-limit-exceeded", error_message: "The payout failed." } }
      : {}),
    timestamp: iso(createdAt)
  }
}

const SESSION_LIFE_MS = 86_400_000

/** A failed payment leaves its session open: the payer may still pay (`0018`), or it expires. */
const sessionWords = ({ detail, ending, status }: SimulatedTransaction, says = status) => {
  if (says === "successful") return { checkout_status: "complete", payment_status: "succeeded" } as const
  const isOver = says === "failed" && ending !== "0018"
  if (!isOver) return { checkout_status: "open", payment_status: "processing" } as const
  return { checkout_status: "expired", payment_status: detail.expired === "true" ? "processing" : "cancelled" } as const
}

export const sessionData = (session: SimulatedTransaction) => {
  const { amount, createdAt, currency, detail, id, reference, status, updatedAt } = session
  const isPaid = status === "successful"
  const hasFailed = status === "failed" && detail.expired !== "true"
  return {
    id,
    amount: toDecimal(amount, currency),
    ...sessionWords(session),
    ...(reference === null ? {} : { client_reference: reference }),
    currency,
    error_url: detail.errorUrl,
    success_url: detail.successUrl,
    business_name: "Simulated shop",
    transaction_id: isPaid ? transactionId(session) : null,
    last_payment_error: hasFailed ? { code: "payment-failure", message: "The payment failed." } : null,
    wave_launch_url: `${detail.origin}/c/${id}?a=${toDecimal(amount, currency)}&c=${currency}`,
    when_created: iso(createdAt),
    when_expires: iso(createdAt + SESSION_LIFE_MS),
    when_completed: isPaid ? iso(updatedAt) : null
  }
}

export const transactionId = ({ id }: SimulatedTransaction): string => `T_${id.replace(/\D/g, "")}`

/** Only about sessions, and not about refunds: Wave sends no callbacks about payouts, reversals and refunds. */
export const callbackOf =
  (secretOf: (transaction: SimulatedTransaction) => Parameters<typeof signedCallback>[0]["secret"]) =>
  (transaction: SimulatedTransaction, planned: PlannedCallback, now: number) => {
    const { kind, returned } = transaction
    if (kind !== "collection" || returned) return null
    const { says } = planned
    const type = says === "successful" ? "completed" : "payment_failed"
    const { error_url: _error, success_url: _success, wave_launch_url: _url, ...data } = sessionData(transaction)
    const event = {
      id: `EV_${transaction.id}_${says}`,
      type: `checkout.session.${type}`,
      data: { ...data, ...sessionWords(transaction, says) }
    }
    return signedCallback({
      secret: secretOf(transaction),
      planned,
      // With white space that no serialiser would produce, as everywhere in the simulator.
      body: `${JSON.stringify(event, null, 1)} `,
      headers: (secret, body) => {
        const seconds = String(Math.floor(now / 1000))
        const signature = createHmac("sha256", secret).update(`${seconds}${body}`).digest("hex")
        return { "wave-signature": `t=${seconds},v1=${signature}` }
      }
    })
  }

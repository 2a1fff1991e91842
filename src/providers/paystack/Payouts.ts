import { Clock, Effect } from "effect"
import type { PayoutOperations } from "../../services/ports/Provider.ts"
import type { Client, Deadline } from "../Client.ts"
import { payoutFeeOf } from "../ContractFees.ts"
import { contractQuote, quoteRefused } from "../Quotes.ts"
import type { PaystackSettings } from "./Client.ts"
import { isPayable, recipientBody } from "./Networks.ts"
import { transferBody, verifyTransferPath } from "./Order.ts"
import { duplicate, isDuplicate, logAlarm } from "./Reading.ts"
import { confirmedTransfer, isUnconfirmed, recipientIn, transferFound, transferOutcome } from "./TranslateTransfer.ts"

/** Transfers. Sending needs a recipient first; its lookup after a refusal may take as long again. */
export const payouts = (
  client: Client,
  deadline: Deadline,
  { payoutFees }: Pick<PaystackSettings, "payoutFees">
): PayoutOperations => {
  const quote: PayoutOperations["quote"] = Effect.fn("paystack.quote")((order) =>
    Effect.sync(() => {
      const { amount, corridor, destinationCountry, destinationCurrency } = order
      const { currency, method } = corridor
      const isAcross = destinationCurrency !== currency || destinationCountry !== corridor.country
      if (isAcross || !isPayable(corridor)) return quoteRefused("Paystack does not pay there in this currency")
      const fee = payoutFeeOf(payoutFees, currency, method, amount)
      if (fee === undefined) return quoteRefused("the contract names no fee for it")
      return contractQuote(order, fee)
    })
  )

  const look = Effect.fnUntraced(function* (order: Parameters<PayoutOperations["fetchStatus"]>[0]) {
    const call = { operation: "transfer_verify", method: "GET", path: verifyTransferPath(order) } as const
    return transferFound(yield* client(call, yield* deadline), order)
  })

  const send: PayoutOperations["send"] = Effect.fn("paystack.send")(function* (order) {
    const { corridor, destination, reference } = order
    const { currency } = corridor
    const body = recipientBody(destination, currency)
    if (body === undefined) return unreachable
    const until = yield* deadline
    const created = yield* client({ operation: "recipient", method: "POST", path: "/transferrecipient", body }, until)
    const recipient = recipientIn(created)
    if (typeof recipient !== "string") return yield* logAlarm(recipient, reference)
    const call = { operation: "transfer", method: "POST", path: "/transfer", body: transferBody(order, recipient) } as const
    const response = yield* client(call, until)
    const first = transferOutcome(response, { reference, currency })
    if (!isUnconfirmed(first, response)) return yield* logAlarm(first, reference)
    const sentAt = yield* Clock.currentTimeMillis
    const looked = yield* look({ reference, providerReference: null, currency, destinationCurrency: null, sentAt })
    return yield* logAlarm(confirmedTransfer(isDuplicate(response) ? duplicate : first, looked), reference)
  })

  const fetchStatus: PayoutOperations["fetchStatus"] = Effect.fn("paystack.ask")(function* (order) {
    return yield* logAlarm(yield* look(order), order.reference)
  })

  return { quote, send, fetchStatus }
}

/** The corridor names whom this provider does not reach. */
export const unreachable = {
  _tag: "Refused",
  providerReference: null,
  kind: "config",
  failure: { code: "provider_rejected", message: "The provider does not serve this network or country." },
  note: "Paystack has no code for it: nothing was sent"
} as const

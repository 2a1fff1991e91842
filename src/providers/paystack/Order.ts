import { Redacted } from "effect"
import type { ChargeOrder, PayoutOrder } from "../../services/ports/Provider.ts"
import { payerEmail } from "../PayerEmail.ts"
import { noteText, plainRule } from "../ProviderText.ts"
import { toSubunits } from "./Amounts.ts"
import { chargedParty } from "./Networks.ts"
import { wireReference } from "./Wire.ts"

// Builds Paystack's bodies from the gateway's orders.

/** POST /transfer */
export const transferBody = ({ corridor, narration, quote, reference }: PayoutOrder, recipient: string): object => ({
  source: "balance",
  amount: toSubunits(quote.principal, corridor.currency),
  currency: corridor.currency,
  recipient,
  reference: wireReference(reference),
  ...(narration === null ? {} : { reason: noteText(reasonRule, narration, reference) })
})

/** The maximum length of the gateway's narrations; Paystack documents no limit. */
export const reasonRule = plainRule(140)

/** The gateway's maximum; Paystack documents no limit. */
const LONGEST_EMAIL = 254

/** POST /charge; undefined for a network that Paystack does not charge. */
export const chargeBody = (
  { amount, corridor, payer, reference, source }: ChargeOrder,
  emailDomain: string
): object | undefined => {
  const party = chargedParty(source, corridor.currency)
  if (party === undefined) return undefined
  const own = wireReference(reference)
  return {
    email: payerEmail(payer, { own, domain: emailDomain, longest: LONGEST_EMAIL }),
    amount: toSubunits(amount, corridor.currency),
    currency: corridor.currency,
    reference: own,
    mobile_money: party
  }
}

/** POST /charge/submit_otp */
export const submitBody = ({ otp, reference }: ChargeOrder): object => ({
  otp: otp === null ? "" : Redacted.value(otp.pin),
  reference: wireReference(reference)
})

export const verifyTransferPath = (order: Pick<PayoutOrder, "reference">): string =>
  `/transfer/verify/${wireReference(order.reference)}`
export const verifyChargePath = (order: Pick<ChargeOrder, "reference">): string =>
  `/transaction/verify/${wireReference(order.reference)}`
export const checkChargePath = (order: Pick<ChargeOrder, "reference">): string => `/charge/${wireReference(order.reference)}`

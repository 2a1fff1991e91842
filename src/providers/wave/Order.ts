import { Redacted } from "effect"
import { toDecimal } from "../../domain/Money.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type { ChargeOrder, PayoutOrder } from "../../services/ports/Provider.ts"
import { digitsOf, noteText, plainRule, providerText } from "../ProviderText.ts"
import type { Wallet } from "./Client.ts"

// Wave's bodies, which depend on the order alone: Wave refuses the same key with other bytes.

/** POST /v1/payout */
export const payoutBody = (
  { corridor, narration, quote, reference }: PayoutOrder,
  { msisdn, name }: MomoParty,
  wallet: Pick<Wallet, "aggregatedMerchant">
): object => {
  const holder = name === undefined ? undefined : providerText(nameRule, Redacted.value(name))
  return {
    currency: corridor.currency,
    receive_amount: toDecimal(quote.principal, corridor.currency),
    mobile: numberOf(msisdn),
    ...(holder === undefined ? {} : { name: holder }),
    payment_reason: noteText(reasonRule, narration, reference),
    client_reference: reference,
    ...merchantOf(wallet)
  }
}

/** POST /v1/checkout/sessions; undefined without an https URL to which the page can return the payer, paid or not. */
export const sessionBody = (
  { amount, corridor, redirectUrl, reference, source }: ChargeOrder,
  wallet: Pick<Wallet, "aggregatedMerchant">
): object | undefined => {
  if (redirectUrl === null || !redirectUrl.startsWith("https://")) return undefined
  return {
    amount: toDecimal(amount, corridor.currency),
    currency: corridor.currency,
    success_url: redirectUrl,
    error_url: redirectUrl,
    client_reference: reference,
    restrict_payer_mobile: numberOf(source.msisdn),
    ...merchantOf(wallet)
  }
}

const merchantOf = ({ aggregatedMerchant: id }: Pick<Wallet, "aggregatedMerchant">) =>
  id === null ? {} : { aggregated_merchant_id: id }

/** With the country's prefix and a plus sign. */
const numberOf = (msisdn: Redacted.Redacted): string => `+${digitsOf(msisdn)}`

// Wave documents their lengths, but not their characters.
export const reasonRule = plainRule(40)
export const nameRule = plainRule(255)

import { Redacted } from "effect"
import type { Corridor } from "../../domain/Corridor.ts"
import { toDecimal } from "../../domain/Money.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type { ChargeOrder, PayoutOrder } from "../../services/ports/Provider.ts"
import { noteText, type TextRule } from "../ProviderText.ts"
import type { Market } from "./Networks.ts"

// From the gateway's orders to MTN's bodies. The one side reads the narration, the other, which is us, the reference.

/** Why an order is none of MTN's in this country; undefined where it is. */
export const misfit = (market: Market | undefined, corridor: Corridor, party: MomoParty): string | undefined => {
  if (market === undefined || corridor.country !== market.country) return "no account in this country"
  if (corridor.currency !== market.currency) return "no account in this currency"
  return party.network === "MTN" ? undefined : "another network"
}

/** POST /collection/v1_0/requesttopay */
export const paymentBody = ({ amount, corridor, narration, reference, source }: ChargeOrder): object => ({
  amount: toDecimal(amount, corridor.currency),
  currency: corridor.currency,
  externalId: reference,
  payer: partyOf(source),
  payerMessage: noteText(messageRule, narration, reference),
  payeeNote: reference
})

/** POST /disbursement/v1_0/transfer */
export const transferBody = ({ corridor, narration, quote, reference }: PayoutOrder, payee: MomoParty): object => ({
  amount: toDecimal(quote.principal, corridor.currency),
  currency: corridor.currency,
  externalId: reference,
  payee: partyOf(payee),
  payerMessage: reference,
  payeeNote: noteText(messageRule, narration, reference)
})

/** The number without its plus sign. */
const partyOf = ({ msisdn }: MomoParty): object => ({
  partyIdType: "MSISDN",
  partyId: digitsOf(msisdn)
})

export const digitsOf = (msisdn: Redacted.Redacted): string => Redacted.value(msisdn).replace(/\D/g, "")

/** Apostrophes and other special characters are a 400, and `&` meets a firewall; which are taken is not published beyond these. */
export const messageRule: TextRule = { atMost: 160, everyScript: false, punctuation: ".-" }

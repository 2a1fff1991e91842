import { toDecimal } from "../../domain/Money.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type { ChargeOrder, PayoutOrder } from "../../services/ports/Provider.ts"
import { digitsOf, noteText, type TextRule } from "../ProviderText.ts"

// From the gateway's orders to MTN's bodies. The one side reads the narration, the other, which is us, the reference.

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

/** Apostrophes and other special characters are a 400, and `&` meets a firewall; which are taken is not published beyond these. */
export const messageRule: TextRule = { atMost: 160, everyScript: false, punctuation: ".-" }

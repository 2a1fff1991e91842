import { toDecimal } from "../../domain/Money.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type { ChargeOrder, PayoutOrder } from "../../services/ports/Provider.ts"
import { digitsOf, noteText, type TextRule } from "../ProviderText.ts"
import { MESSAGE_AT_MOST } from "./Wire.ts"

// MTN's bodies from the gateway's orders. The other party sees the narration; our side of the movement shows the reference.

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

/** The number without the plus sign. */
const partyOf = ({ msisdn }: MomoParty): object => ({
  partyIdType: "MSISDN",
  partyId: digitsOf(msisdn)
})

/** Apostrophes and other special characters cause a 400, and `&` is blocked by a firewall. MTN publishes no complete list. */
export const messageRule: TextRule = { atMost: MESSAGE_AT_MOST, everyScript: false, punctuation: ".-" }

import type { Corridor } from "../../domain/Corridor.ts"
import { type MinorUnits, minor } from "../../domain/Money.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type { ChargeOrder, NetworkLimits, PayoutOrder } from "../../services/ports/Provider.ts"
import { digitsOf, noteText, type TextRule } from "../ProviderText.ts"
import type { Account } from "./Client.ts"
import { accountReferenceOf, conversationIdOf } from "./Wire.ts"

// Builds Safaricom's bodies from the gateway's orders.

const SHILLING = 100n
const LARGEST = 250_000n * SHILLING
const smallest = { charge: SHILLING, payout: 10n * SHILLING }

/** By the tariff, which is the same for every account: amounts are whole shillings. */
export const limits = (kind: keyof typeof smallest): NetworkLimits => ({
  availability: "operational",
  minimum: minor(smallest[kind]),
  maximum: minor(LARGEST),
  step: minor(SHILLING)
})

/** Why Safaricom cannot serve an order; undefined when it can. */
export const misfit = ({ country, currency }: Corridor, { network }: Pick<MomoParty, "network">): string | undefined => {
  if (country !== "KE" || currency !== "KES") return "another country or currency"
  return network === "MPESA" ? undefined : "another network"
}

/** Undefined when the amount is not allowed. */
export const shillings = (kind: keyof typeof smallest, amount: MinorUnits): bigint | undefined =>
  amount % SHILLING === 0n && amount >= smallest[kind] && amount <= LARGEST ? amount / SHILLING : undefined

/** Safaricom does not publish which characters it accepts. */
const plain = { everyScript: false, punctuation: ".-" }
const promptRule: TextRule = { ...plain, atMost: 13 }
const remarksRule: TextRule = { ...plain, atMost: 100, atLeast: 2 }

/** POST /mpesa/stkpush/v1/processrequest. A till is paid through its head office. */
export const chargeBody = ({ addresses, settings }: Account, stamped: object, amount: bigint, order: ChargeOrder): object => {
  const { narration, reference, source } = order
  const { shortcode, till } = settings
  const handle = accountReferenceOf(reference)
  return {
    ...stamped,
    TransactionType: till === null ? "CustomerPayBillOnline" : "CustomerBuyGoodsOnline",
    Amount: amount,
    PartyA: digitsOf(source.msisdn),
    PartyB: till ?? shortcode,
    PhoneNumber: digitsOf(source.msisdn),
    CallBackURL: addresses.of("charge", reference),
    AccountReference: handle,
    TransactionDesc: noteText(promptRule, narration, handle)
  }
}

/** POST /mpesa/b2c/v3/paymentrequest */
export const payoutBody = (
  { addresses, credential, settings }: Account,
  amount: bigint,
  { narration, reference }: PayoutOrder,
  payee: MomoParty
): object => ({
  OriginatorConversationID: conversationIdOf(reference),
  InitiatorName: settings.initiator,
  SecurityCredential: credential,
  CommandID: "BusinessPayment",
  Amount: amount,
  PartyA: settings.payoutShortcode,
  PartyB: digitsOf(payee.msisdn),
  Remarks: noteText(remarksRule, narration, reference),
  QueueTimeOutURL: addresses.of("late", reference),
  ResultURL: addresses.of("payout", reference)
})

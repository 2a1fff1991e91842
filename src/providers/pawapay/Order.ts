import { Redacted } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { Destination } from "../../domain/Party.ts"
import type { PaymentKind } from "../../domain/Payment.ts"
import type { ChargeOrder, PayoutOrder } from "../../services/ports/Provider.ts"
import type { FactWithAlarm } from "../AnswerParsing.ts"
import { digitsOf, providerText, type TextRule } from "../ProviderText.ts"
import { misroutedTo, type Refused, rowOf } from "../Refusals.ts"
import { plainDecimal } from "../WireNumber.ts"
import type { Said } from "./ActiveConf.ts"
import { type Decimals, marketOf, type Network } from "./Networks.ts"
import { identity, unaskable } from "./Refusals.ts"
import { type DepositRequest, type PayoutRequest, paymentId } from "./Wire.ts"

// Builds pawaPay's bodies from the gateway's orders, or refuses an order without a call when pawaPay could not carry it out.

type Unaskable = FactWithAlarm<Refused>

/** POST /payouts */
export const payoutBody = (
  { corridor, destination, narration, quote, reference }: PayoutOrder,
  said: Said | null = null
): PayoutRequest | Unaskable => {
  const network = networkOf(destination, corridor.currency)
  if ("fact" in network) return network
  const amount = amountOf(quote.principal, corridor.currency, decimalsOf(network, "payout", corridor.currency, said))
  if (amount === undefined) return inexact
  return {
    payoutId: paymentId(reference),
    amount,
    currency: corridor.currency,
    recipient: account(network),
    clientReferenceId: reference,
    ...messageOf(narration)
  }
}

/** POST /deposits */
export const depositBody = (
  { amount, corridor, narration, otp, reference, source }: ChargeOrder,
  said: Said | null = null
): DepositRequest | Unaskable => {
  const network = networkOf(source, corridor.currency)
  if ("fact" in network) return network
  if (network.deposit === null) return misroutedTo(identity.title, unreachable, `no deposits from ${network.provider}`)
  if (network.deposit.asks === "code" && otp === null)
    return misroutedTo(identity.title, "This network's payers pay with a code of their own.", `no code for ${network.provider}`)
  const text = amountOf(amount, corridor.currency, decimalsOf(network, "collection", corridor.currency, said))
  if (text === undefined) return inexact
  return {
    depositId: paymentId(reference),
    amount: text,
    currency: corridor.currency,
    payer: account(network),
    clientReferenceId: reference,
    ...messageOf(narration),
    ...(otp === null ? {} : { preAuthorisationCode: Redacted.value(otp.pin) })
  }
}

const unreachable = "The provider does not reach this account."

export const networkOf = (party: Destination, currency: Currency): (Network & { readonly number: string }) | Unaskable => {
  if (party._tag !== "momo") return misroutedTo(identity.title, unreachable, `a ${party._tag}`)
  const market = marketOf(party.country)
  const network = rowOf(market?.networks ?? {}, party.network)
  if (network === undefined || market?.currency !== currency)
    return misroutedTo(identity.title, unreachable, `${party.network} in ${party.country} with ${currency}`)
  return { ...network, number: digitsOf(party.msisdn) }
}

const account = ({ number, provider }: Network & { readonly number: string }) =>
  ({ type: "MMO", accountDetails: { provider, phoneNumber: number } }) as const

/** As pawaPay reports; if it never did, by the table. */
export const decimalsOf = (
  { deposit, payout, provider }: Network,
  kind: PaymentKind,
  currency: Currency,
  said: Said | null
): Decimals => said?.(provider, kind, currency)?.decimals ?? (kind === "payout" ? payout : (deposit ?? payout)).decimals

/** Major units without trailing zeros; undefined when the network accepts fewer decimals. */
export const amountOf = (amount: MinorUnits, currency: Currency, decimals: Decimals): string | undefined => {
  const text = plainDecimal(amount, currency)
  return decimals === 0 && text.includes(".") ? undefined : text
}

const inexact = unaskable("The network takes whole amounts only.", "an amount with decimals")

/** The text that the payer or recipient sees. */
export const messageRule: TextRule = { atLeast: 4, atMost: 22, everyScript: false, punctuation: "" }

/** Optional: when nothing of it is left it is omitted, because our references are too long for it. */
const messageOf = (narration: string | null): { readonly customerMessage?: string } => {
  const customerMessage = providerText(messageRule, narration ?? "")
  return customerMessage === undefined ? {} : { customerMessage }
}

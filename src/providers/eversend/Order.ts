import { DateTime, Redacted } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { RawJson } from "../../domain/Json.ts"
import { type MinorUnits, toDecimal } from "../../domain/Money.ts"
import type { Destination, MomoParty, WalletParty } from "../../domain/Party.ts"
import type { TransactionKind } from "../../domain/Transaction.ts"
import type { ChargeOrder, PayoutOrder, QuoteOrder, StatusQuery } from "../../services/ports/Provider.ts"
import { plainRule, providerText } from "../ProviderText.ts"

// Eversend's bodies from the gateway's orders. It has no field for a narration, and derives the network from the number.

/** POST /payouts/quotation; undefined for a wallet without its owner, for which Eversend gives no quote. */
export const quotationBody = (order: QuoteOrder): object | undefined => {
  const { amountType, corridor, destination } = order
  const amount = money(order.amount, amountType === "SOURCE" ? corridor.currency : order.destinationCurrency)
  const common = { sourceWallet: corridor.currency, amount, amountType }
  if (corridor.method === "wallet") {
    return destination?._tag === "wallet" ? { ...common, type: "eversend", ...walletOwner(destination) } : undefined
  }
  const { destinationCountry, destinationCurrency } = order
  return { ...common, type: corridor.method, destinationCountry, destinationCurrency }
}

const walletOwner = ({ identifier, value }: WalletParty): object => {
  const text = Redacted.value(value)
  switch (identifier) {
    case "msisdn":
      return { identifier: "phone", phone: phone(text) }
    case "email":
      return { identifier: "email", email: text }
    case "tag":
      return { identifier: "tag", tag: text }
  }
}

/** POST /payouts. `bankName` is sent with a bank account only. */
export const payoutBody = ({ destination, quote, reference }: PayoutOrder, bankName: string): object => ({
  token: quote.token,
  transactionRef: reference,
  ...recipient(destination, bankName)
})

const recipient = (destination: Destination, bankName: string): object => {
  switch (destination._tag) {
    case "wallet":
      return {}
    case "momo":
      return {
        ...namesOf(destination.name),
        country: destination.country,
        phoneNumber: phone(Redacted.value(destination.msisdn))
      }
    case "bank": {
      const { accountName, accountNumber, bankCode, country, msisdn } = destination
      const name = Redacted.value(accountName)
      return {
        ...namesOf(accountName),
        country,
        ...(msisdn === null ? {} : { phoneNumber: phone(Redacted.value(msisdn)) }),
        bankName,
        bankCode,
        bankAccountName: providerText(nameRule, name) ?? name,
        bankAccountNumber: Redacted.value(accountNumber)
      }
    }
  }
}

/** Eversend requires a person's names. Without any, these placeholders are sent, which cannot be mistaken for a name. */
const unnamed = { firstName: "Payment", lastName: "Recipient" } as const

/** The maximum length of account names; Eversend documents no limit. */
export const nameRule = plainRule(128)

/** The first word and the rest. A single name is sent twice, because both members are required. */
const namesOf = (name: Redacted.Redacted | undefined): { readonly firstName: string; readonly lastName: string } => {
  const text = name === undefined ? undefined : providerText(nameRule, Redacted.value(name))
  const [firstName, ...others] = (text ?? "").split(" ").filter((word) => word !== "")
  if (firstName === undefined) return unnamed
  return { firstName, lastName: others.length === 0 ? firstName : others.join(" ") }
}

/** POST /collections/momo */
export const chargeBody = ({ amount, corridor, otp, payer, redirectUrl, reference, source }: ChargeOrder): object => ({
  phone: phone(Redacted.value(source.msisdn)),
  amount: money(amount, corridor.currency),
  country: corridor.country,
  currency: corridor.currency,
  transactionRef: reference,
  ...(payer === null ? {} : { customer: customer(payer) }),
  ...(redirectUrl === null ? {} : { redirectUrl }),
  ...(otp === null ? {} : { otp: { pinId: otp.pinId, pin: Redacted.value(otp.pin) } })
})

/** POST /collections/otp */
export const codeBody = ({ msisdn }: MomoParty): object => ({ phone: phone(Redacted.value(msisdn)) })

const customer = ({ email, externalId, firstName, lastName, phone }: NonNullable<ChargeOrder["payer"]>): object => ({
  ...(firstName === null ? {} : named("firstName", firstName)),
  ...(lastName === null ? {} : named("lastName", lastName)),
  ...(email === null ? {} : { email: Redacted.value(email) }),
  ...(phone === null ? {} : { phone: Redacted.value(phone) }),
  ...(externalId === null ? {} : { externalId })
})

const named = (member: "firstName" | "lastName", name: Redacted.Redacted): object => {
  const text = providerText(nameRule, Redacted.value(name))
  return text === undefined ? {} : { [member]: text }
}

export const byIdPath = (providerReference: string): string => `/transactions/${encodeURIComponent(providerReference)}`

/** One page of a search for our reference, by kind. It begins a day before the sending, because of time zones. */
export const searchPath = (kind: TransactionKind, order: StatusQuery, page: number, pageSize: number): string => {
  const from = DateTime.formatIsoDateUtc(DateTime.makeUnsafe(order.sentAt - DAY_MS))
  const query = new URLSearchParams({ search: order.reference, type: kind, from, page: String(page), limit: String(pageSize) })
  return `/transactions?${query}`
}
const DAY_MS = 86_400_000

/** Major units as a JSON number with every digit. */
const money = (amount: MinorUnits, currency: Currency): RawJson => new RawJson(toDecimal(amount, currency))

/** E.164 with the plus sign. */
const phone = (msisdn: string): string => `+${msisdn.replace(/\D/g, "")}`

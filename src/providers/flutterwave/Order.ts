import { Redacted } from "effect"
import type { Corridor } from "../../domain/Corridor.ts"
import type { Destination } from "../../domain/Party.ts"
import type { Sender as OwnSender } from "../../domain/Sender.ts"
import type { ChargeOrder, PayoutOrder } from "../../services/ports/Provider.ts"
import { payerEmail } from "../PayerEmail.ts"
import { digitsOf, noteText, plainRule, providerText, recipientName } from "../ProviderText.ts"
import { plainNumber } from "../WireNumber.ts"
import type { Sender } from "./Client.ts"
import { branchCountries, chargeRoute, momoBank, pays, WALLET_BANK } from "./Networks.ts"

// Builds Flutterwave's bodies from the gateway's orders.

/** The longest name, address or narration that Flutterwave accepts. */
const LONGEST_TEXT = 100
export const textRule = plainRule(LONGEST_TEXT)

/** POST /charges; undefined when there is no such route. */
export const chargeRequest = ({ amount, corridor, payer, redirectUrl, reference, source }: ChargeOrder, emailDomain: string) => {
  const route = chargeRoute(source.country, source.network)
  if (route === undefined) return undefined
  const names = [payer?.firstName, payer?.lastName].flatMap((part) => (part ? [Redacted.value(part)] : [])).join(" ")
  const fullname = providerText(textRule, names)
  const body = {
    tx_ref: reference,
    // A whole amount as an integer: the only form that v3's reference promises to accept.
    amount: plainNumber(amount, corridor.currency),
    currency: corridor.currency,
    email: payerEmail(payer, { own: reference.toLowerCase(), domain: emailDomain, longest: LONGEST_TEXT }),
    phone_number: digitsOf(source.msisdn),
    ...(fullname === undefined ? {} : { fullname }),
    ...(route.network === null ? {} : { network: route.network }),
    ...(route.needs === "country" ? { country: source.country } : {}),
    ...(route.needs === "order_id" ? { order_id: reference } : {}),
    ...(redirectUrl === null ? {} : { redirect_url: redirectUrl })
  }
  return { path: `/charges?type=${route.type}`, body }
}

/** The destination of a transfer; undefined when Flutterwave cannot reach it. A transfer to a phone without a name fails. */
export const accountOf = (destination: Destination) => {
  switch (destination._tag) {
    case "momo": {
      const bank = momoBank(destination.country, destination.network)
      if (bank === undefined) return undefined
      return {
        account_bank: bank,
        account_number: digitsOf(destination.msisdn),
        beneficiary_name: recipientName(textRule, destination)
      }
    }
    case "bank": {
      const { accountNumber, bankCode, branchCode, country } = destination
      const isByBranch = branchCountries.includes(country)
      if (!pays(country, "bank") || (isByBranch && branchCode === undefined)) return undefined
      return {
        account_bank: bankCode,
        account_number: Redacted.value(accountNumber),
        beneficiary_name: recipientName(textRule, destination),
        ...(isByBranch ? { destination_branch_code: branchCode } : {})
      }
    }
    // Another merchant can be reached only by its merchant number at Flutterwave.
    case "wallet":
      if (!pays(destination.country, "wallet") || destination.identifier !== "tag") return undefined
      return { account_bank: WALLET_BANK, account_number: Redacted.value(destination.value) }
  }
}

/** POST /transfers */
export const transferBody = (
  { corridor, narration, quote, reference }: PayoutOrder,
  account: NonNullable<ReturnType<typeof accountOf>>,
  from: Sender | null
): object => ({
  ...account,
  amount: plainNumber(quote.principal, corridor.currency),
  currency: corridor.currency,
  debit_currency: corridor.currency,
  reference,
  // Required between wallets only.
  ...(narration === null && corridor.method !== "wallet" ? {} : { narration: noteText(textRule, narration, reference) }),
  ...(from !== null && isSenderWanted(corridor)
    ? { meta: [{ sender: from.name, sender_country: from.country, mobile_number: from.phone }] }
    : {})
})

/** Whether Flutterwave requires the sender: in Kenya, for phones and banks. */
export const isSenderWanted = ({ currency, method }: Pick<Corridor, "currency" | "method">): boolean =>
  currency === "KES" && method !== "wallet"

/** The tenant's sender; otherwise the account's. */
export const senderOf = (own: OwnSender | null, ofAccount: Sender | null): Sender | null =>
  own === null
    ? ofAccount
    : {
        name: providerText(textRule, Redacted.value(own.name)) ?? Redacted.value(own.name),
        country: own.country,
        phone: digitsOf(own.msisdn)
      }

export const chargePath = ({ reference }: Pick<PayoutOrder, "reference">): string =>
  `/transactions/verify_by_reference?${new URLSearchParams({ tx_ref: reference })}`
export const transferPath = ({ reference }: Pick<PayoutOrder, "reference">): string =>
  `/transfers?${new URLSearchParams({ reference })}`

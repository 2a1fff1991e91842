import { Redacted } from "effect"
import type { MinorUnits } from "../../domain/Money.ts"
import type { Destination, MomoParty } from "../../domain/Party.ts"
import type { PaymentKind } from "../../domain/Payment.ts"
import type { PayoutOrder } from "../../services/ports/Provider.ts"
import { encryptedUnder } from "../PublicKeys.ts"
import { plainNumber } from "../WireNumber.ts"
import type { CountryAccount } from "./Client.ts"
import { type Market, places } from "./Networks.ts"
import { wireId } from "./Wire.ts"

/** A payout or a charge: its kind, amount and other party. */
export interface MoneyOrder<Party extends Destination = Destination> extends Pick<PayoutOrder, "reference" | "corridor"> {
  readonly kind: PaymentKind
  readonly amount: MinorUnits
  readonly party: Party
}

/**
 * The body of a call that moves money; undefined for a number of another country. Its only text, `reference`, is our reference,
 * by which a payment is found in every list of Airtel's.
 */
export const moneyBody = (
  account: CountryAccount,
  { amount, kind, party, reference }: MoneyOrder<MomoParty>
): object | undefined => {
  const { country, currency, version } = account
  const msisdn = nationalNumber(account, party.msisdn)
  const id = wireId(reference)
  const sum = plainNumber(amount, currency)
  if (msisdn === undefined) return undefined
  if (kind === "collection")
    return { reference, subscriber: { country, currency, msisdn }, transaction: { amount: sum, country, currency, id } }
  const payee = { v1: { msisdn }, v2: { currency, msisdn }, v3: { msisdn, wallet_type: "NORMAL" } }[version]
  const transaction = { amount: sum, id, ...(version === "v1" ? {} : { type: "B2C" }) }
  return { payee, reference, pin: encryptedPin(account), transaction }
}

const encryptedPin = ({ pin, pinKey, pinPadding }: Pick<CountryAccount, "pin" | "pinKey" | "pinPadding">): string =>
  pinKey === "printed" ? Redacted.value(pin) : encryptedUnder(pinKey, pinPadding, Redacted.value(pin))

/** Without the country's code and leading zeros, which Airtel refuses; undefined when the number does not begin with that code. */
export const nationalNumber = ({ country }: Pick<Market, "country">, msisdn: Redacted.Redacted): string | undefined => {
  const digits = Redacted.value(msisdn).replace(/\D/g, "")
  const code = places[country].phonePrefix.slice(1)
  return digits.startsWith(code) ? digits.slice(code.length).replace(/^0+/, "") : undefined
}

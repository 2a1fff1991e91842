import { Option, Redacted, Result, Schema } from "effect"
import { Country } from "./Corridor.ts"
import { maskedName, maskedNumber } from "./Masking.ts"
import { msisdnAsWritten } from "./Msisdn.ts"
import { plainText } from "./PartyIdentity.ts"

const Secret = Schema.RedactedFromValue(Schema.String)

/** The payer that a tenant's providers are given where a country requires one: the tenant itself, as its operator vouches. */
export const Sender = Schema.Struct({
  /** The full name of a company or a person. */
  name: Secret,
  country: Country,
  /** With its country's prefix and a plus sign. */
  msisdn: Secret,
  /** One line. */
  address: Secret
})
export type Sender = typeof Sender.Type

/** The limit of the one provider that requires it. */
const LONGEST_NAME = 100
const LONGEST_ADDRESS = 200

/** As pages, the command line and the audit log show it. */
export const maskedSender = ({ address, country, msisdn, name }: Sender) => ({
  name: maskedName(Redacted.value(name)),
  country,
  number: maskedNumber(Redacted.value(msisdn)),
  address: maskedName(Redacted.value(address))
})

/** A sender from typed text, or its error as one line for the person. */
export const senderFrom = (typed: {
  readonly name: string
  readonly country: string
  readonly number: string
  readonly address: string
}): Result.Result<Sender, string> => {
  const [name, address] = [lineOf(typed.name, LONGEST_NAME), lineOf(typed.address, LONGEST_ADDRESS)]
  if (name === undefined) return Result.fail(`the name must be one line of 1 to ${LONGEST_NAME} characters`)
  if (!isCountry(typed.country)) return Result.fail("the country must be two capital letters such as KE")
  const msisdn = msisdnAsWritten(typed.number, typed.country)
  if (Option.isNone(msisdn)) return Result.fail("the number must be a phone number that is possible in its country")
  if (address === undefined) return Result.fail(`the address must be one line of 1 to ${LONGEST_ADDRESS} characters`)
  return Result.succeed({
    name: Redacted.make(name),
    country: typed.country,
    msisdn: Redacted.make(msisdn.value),
    address: Redacted.make(address)
  })
}

const isCountry = Schema.is(Country)

const lineOf = (text: string, longest: number): string | undefined => {
  const line = plainText(text)
  return line === "" || line.length > longest ? undefined : line
}

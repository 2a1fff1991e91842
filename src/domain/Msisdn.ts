import { Option } from "effect"
import { getCountryCallingCode, isSupportedCountry, type PhoneNumber, parsePhoneNumberFromString } from "libphonenumber-js/min"
import { withoutUnseen } from "./VisibleText.ts"

const LONGEST = 32
/** The national numbers of our markets are shorter: a longer one without a plus begins with a country's prefix. */
const SHORTEST_WITH_PREFIX = 11

/**
 * A number as digits with a leading `+`; none unless it has the country's prefix and a possible length (contract PAY-5). A
 * leading `+` and spaces are accepted. Only the provider knows whether the number is in use.
 */
export const msisdnOf = (text: string, country: string): Option.Option<string> => {
  if (text.length > LONGEST || !isSupportedCountry(country)) return Option.none()
  const digits = /^\+?([0-9]+)$/.exec(text.replaceAll(" ", ""))?.[1]
  return digits === undefined ? Option.none() : parsed(`+${digits}`, country)
}

/**
 * The same for a number as people write it: with `00`, the trunk zero, spaces, dashes, dots, slashes, brackets, and invisible
 * characters. A national number without a country is ambiguous.
 */
export const msisdnAsWritten = (text: string, country: string | null): Option.Option<string> => {
  const written = withoutUnseen(text).normalize("NFKC").replace(BETWEEN, "")
  if (written.length > LONGEST || !/^\+?[0-9]+$/.test(written)) return Option.none()
  const digits = written.replace(/^(\+|00)/, "")
  const opens = digits !== written || digits.length >= SHORTEST_WITH_PREFIX
  const whole = opens ? parsed(`+${digits}`, null) : Option.none()
  return Option.orElse(whole, () =>
    country === null || !isSupportedCountry(country) || digits !== written
      ? Option.none()
      : parsed(`+${getCountryCallingCode(country)}${digits}`, country)
  )
}
const BETWEEN = /[\s\p{Pd}.()/]/gu

/** Without the trunk zero: the library removes it where it knows one. */
const parsed = (text: string, country: string | null): Option.Option<string> => {
  const number = numberIn(text)
  if (number === undefined) return Option.none()
  const { countryCallingCode: prefix, nationalNumber: national } = number
  if (country !== null && isSupportedCountry(country) && prefix !== getCountryCallingCode(country)) return Option.none()
  if (number.isPossible()) return Option.some(number.number)
  return national.startsWith("0") ? parsed(`+${prefix}${national.slice(1)}`, country) : Option.none()
}

/** How people write a number, and how it was stored before there was one canonical form: with `00`, and with the trunk zero. */
export const spellingsOf = (msisdn: string): ReadonlyArray<string> => {
  const number = numberIn(msisdn)
  if (number === undefined) return []
  const { countryCallingCode: prefix, nationalNumber: national } = number
  return [`${prefix}0${national}`, `00${prefix}${national}`, `00${prefix}0${national}`, `0${national}`, national]
}

/** The library's parse of a text. A payout's number is parsed three times in a row, so the last result is cached. */
const numberIn = (text: string): PhoneNumber | undefined => {
  if (last.text !== text) last = { text, number: parsePhoneNumberFromString(text) }
  return last.number
}
let last: { readonly text: string; readonly number: PhoneNumber | undefined } = { text: "", number: undefined }

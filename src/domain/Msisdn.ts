import { Option } from "effect"
import { getCountryCallingCode, isSupportedCountry, type PhoneNumber, parsePhoneNumberFromString } from "libphonenumber-js/min"
import { withoutUnseen } from "./VisibleText.ts"

const LONGEST = 32
/** National numbers of our markets are shorter: so many bare digits begin with a country's prefix. */
const SHORTEST_WITH_PREFIX = 11

/**
 * A number as digits with a leading `+`; none unless it has the country's prefix and a possible length (contract PAY-5). A leading `+` and
 * spaces are accepted. The provider knows whether the number is in use.
 */
export const msisdnOf = (text: string, country: string): Option.Option<string> => {
  if (text.length > LONGEST || !isSupportedCountry(country)) return Option.none()
  const digits = /^\+?([0-9]+)$/.exec(text.replaceAll(" ", ""))?.[1]
  return digits === undefined ? Option.none() : parsed(`+${digits}`, country)
}

/**
 * The same of a number as people write it: with `00`, the zero that is dialled at home, blanks, dashes, dots, slashes, brackets, and
 * characters that are not seen. A national number without a country is ambiguous.
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

/** Without the zero that is dialled at home: the library leaves it out where it knows of one. */
const parsed = (text: string, country: string | null): Option.Option<string> => {
  const number = numberIn(text)
  if (number === undefined) return Option.none()
  const { countryCallingCode: prefix, nationalNumber: national } = number
  if (country !== null && isSupportedCountry(country) && prefix !== getCountryCallingCode(country)) return Option.none()
  if (number.isPossible()) return Option.some(number.number)
  return national.startsWith("0") ? parsed(`+${prefix}${national.slice(1)}`, country) : Option.none()
}

/** How people write a number, and how it was kept before there was one way: with `00`, and with the zero that is dialled at home. */
export const spellingsOf = (msisdn: string): ReadonlyArray<string> => {
  const number = numberIn(msisdn)
  if (number === undefined) return []
  const { countryCallingCode: prefix, nationalNumber: national } = number
  return [`${prefix}0${national}`, `00${prefix}${national}`, `00${prefix}0${national}`, `0${national}`, national]
}

/** The library's reading of a text. A payout's number is read three times, one right after the other: the last one is kept. */
const numberIn = (text: string): PhoneNumber | undefined => {
  if (last.text !== text) last = { text, number: parsePhoneNumberFromString(text) }
  return last.number
}
let last: { readonly text: string; readonly number: PhoneNumber | undefined } = { text: "", number: undefined }

import { Option } from "effect"
import { getCountryCallingCode, isSupportedCountry, parsePhoneNumberFromString } from "libphonenumber-js/min"

const LONGEST = 32

/**
 * A number as digits with a leading `+`; none unless it has the country's prefix and a possible length (contract PAY-5).
 * A leading `+` and spaces are accepted. Whether anybody has that number is the provider's to say.
 */
export const msisdnOf = (text: string, country: string): Option.Option<string> => {
  if (text.length > LONGEST || !isSupportedCountry(country)) return Option.none()
  const digits = /^\+?([0-9]+)$/.exec(text.replaceAll(" ", ""))?.[1]
  if (digits === undefined) return Option.none()
  const parsed = parsePhoneNumberFromString(`+${digits}`)
  if (parsed === undefined || !parsed.isPossible()) return Option.none()
  return parsed.countryCallingCode === getCountryCallingCode(country) ? Option.some(parsed.number) : Option.none()
}

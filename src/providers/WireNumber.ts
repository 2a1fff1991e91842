import { Schema, SchemaGetter } from "effect"
import { type Currency, exponents } from "../domain/Currency.ts"
import { RawJson } from "../domain/Json.ts"
import { type MinorUnits, toDecimal } from "../domain/Money.ts"

/** A member that need not be there, and may be null. */
export const nullable = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const StringOrNumber = Schema.Union([Schema.String, Schema.Finite])

// Nothing that no identifier has: a control character could not even be stored.
const Plain = Schema.String.check(Schema.isPattern(/^[^\p{Cc}\p{Cs}]{0,256}$/u))

/** A number or a string on the wire, text inside: an identifier, a status code. */
export const Text = StringOrNumber.pipe(
  Schema.decodeTo(Plain, {
    decode: SchemaGetter.transform((value: string | number) => String(value)),
    encode: SchemaGetter.transform((value: string): string | number => value)
  })
)

// At most two digits of exponent, so that a short text cannot ask for a long one.
const numeral = /^-?\d+(\.\d+)?([eE][+-]?\d{1,2})?$/

/** Major units as a plain decimal text, to every digit that was sent. A float's exponent (`2.5e-7`) is written out. */
export const Amount = Schema.Union([Schema.String.check(Schema.isPattern(numeral)), Schema.Finite]).pipe(
  Schema.decodeTo(Schema.String, {
    decode: SchemaGetter.transform((value: string | number) => writtenOut(String(value))),
    encode: SchemaGetter.transform((value: string): string | number => value)
  })
)

/** The amount that a request wrote as a JSON number, in major units: as plain decimal text, to every digit, and more than nothing. */
export const WrittenAmount = Schema.instanceOf(RawJson).pipe(
  Schema.decodeTo(Schema.String.check(Schema.isPattern(/^(?=.*[1-9])\d+(\.\d+)?$/)), {
    decode: SchemaGetter.transform(({ text }: RawJson) => writtenOut(text)),
    encode: SchemaGetter.transform((text: string) => new RawJson(text))
  })
)

function writtenOut(text: string): string {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e")
  if (exponent === "0") return mantissa
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".")
  const shift = Number(exponent)
  const digits = whole + fraction
  const point = whole.length + shift
  const padded = point <= 0 ? "0".repeat(1 - point) + digits : digits.padEnd(point, "0")
  const at = Math.max(point, 1)
  const sign = mantissa.startsWith("-") ? "-" : ""
  return sign + padded.slice(0, at) + (at < padded.length ? `.${padded.slice(at)}` : "")
}

/** Every decimal of fewer digits than these is said by a double as it is: noise needs them. */
const NOISY_DIGITS = 16
/** The error of a sum of a few doubles. */
const NOISE_ULPS = 8
/** The rest of the noise of large doubles where their difference is small, in major units. */
const CANCELLED_NOISE = 5e-10
/** Major units. From here on a double is too coarse to tell noise from an amount that is finer than its currency. */
const NOISY_BELOW = 10n ** 9n

/**
 * An amount without the noise of floating point: 19.709999999999997 KES is 19.71. A figure that is exact within the currency's decimals, or
 * that is really so fine, stays as it is.
 */
export const withoutNoise = (text: string, currency: Currency): string => {
  const [, whole = "", fraction = ""] = /^(\d+)\.(\d+)$/.exec(text) ?? []
  const exponent = exponents[currency]
  const digits = (whole + fraction).replace(/^0+/, "").length
  if (digits < NOISY_DIGITS || fraction.length <= exponent || BigInt(whole) > NOISY_BELOW) return text
  const finer = 10n ** BigInt(fraction.length - exponent)
  const said = BigInt(whole + fraction)
  const nearest = (said + finer / 2n) / finer
  const off = Math.abs(Number(said - nearest * finer)) / 10 ** fraction.length
  const ulp = 2 ** (Math.floor(Math.log2(Math.max(Number(text), Number.MIN_VALUE))) - MANTISSA_BITS)
  return off <= Math.max(CANCELLED_NOISE, NOISE_ULPS * ulp) ? toDecimal(nearest, currency) : text
}
const MANTISSA_BITS = 52

/** Major units without zeros that say nothing: a whole amount is written as an integer. */
export const plainDecimal = (amount: MinorUnits, currency: Currency): string => {
  const text = toDecimal(amount, currency)
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text
}

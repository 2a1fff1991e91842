import { Schema, SchemaGetter } from "effect"
import { type Currency, exponents } from "../domain/Currency.ts"
import { RawJson } from "../domain/Json.ts"
import { toDecimal } from "../domain/Money.ts"

/** A member that may be absent or null. */
export const nullable = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const StringOrNumber = Schema.Union([Schema.String, Schema.Finite])

// Excludes characters that no identifier has: control characters could not even be stored.
const Plain = Schema.String.check(Schema.isPattern(/^[^\p{Cc}\p{Cs}]{0,256}$/u))

/** A number or string on the wire, a string inside: an identifier or a status code. */
export const Text = StringOrNumber.pipe(
  Schema.decodeTo(Plain, {
    decode: SchemaGetter.transform((value: string | number) => String(value)),
    encode: SchemaGetter.transform((value: string): string | number => value)
  })
)

// At most two digits of exponent, so that a short text cannot expand into a huge one.
const numeral = /^-?\d+(\.\d+)?([eE][+-]?\d{1,2})?$/

/** Major units as plain decimal text, with every digit that was sent. An exponent (`2.5e-7`) is expanded. */
export const Amount = Schema.Union([Schema.String.check(Schema.isPattern(numeral)), Schema.Finite]).pipe(
  Schema.decodeTo(Schema.String, {
    decode: SchemaGetter.transform((value: string | number) => writtenOut(String(value))),
    encode: SchemaGetter.transform((value: string): string | number => value)
  })
)

/** A positive amount in major units that a request wrote as a JSON number: as plain decimal text with every digit. */
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

/** A double represents every decimal with fewer digits exactly as written: noise needs at least these. */
const NOISY_DIGITS = 16
/** The rounding error of adding a few doubles. */
const NOISE_ULPS = 8
/** The noise that remains when large doubles are subtracted, in major units. */
const CANCELLED_NOISE = 5e-10
/** In major units. Above this, a double is too coarse to distinguish noise from an amount finer than its currency. */
const NOISY_BELOW = 10n ** 9n

/** Removes floating-point noise: 19.709999999999997 KES is 19.71. A value that is exact, or really finer, is unchanged. */
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

/** Major units without trailing zeros: a whole amount is written as an integer. */
export const plainDecimal = (amount: bigint, currency: Currency): string => {
  const text = toDecimal(amount, currency)
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text
}

/** The same as a JSON number, to the digit. */
export const plainNumber = (amount: bigint, currency: Currency): RawJson => new RawJson(plainDecimal(amount, currency))

import { Schema, SchemaGetter } from "effect"
import type { Currency } from "../domain/Currency.ts"
import { RawJson } from "../domain/Json.ts"
import { type MinorUnits, toDecimal } from "../domain/Money.ts"

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

/** What a request wrote as a JSON number, in major units: as plain decimal text, to every digit, and more than nothing. */
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

const NOISY_DIGITS = 12
const CLEAN_DIGITS = 9

/** What floating point makes of a short decimal is that decimal: 19.709999999999997 is 19.71. A figure that is really so fine stays as it is. */
export const withoutNoise = (text: string): string => {
  const [, whole = "", fraction = ""] = /^(\d+)\.(\d+)$/.exec(text) ?? []
  if (fraction.length < NOISY_DIGITS) return text
  const half = Number(fraction[CLEAN_DIGITS]) < 5 ? 0n : 1n
  const digits = String(BigInt(whole + fraction.slice(0, CLEAN_DIGITS)) + half).padStart(CLEAN_DIGITS + 1, "0")
  const [units, rest] = [digits.slice(0, -CLEAN_DIGITS), digits.slice(-CLEAN_DIGITS)]
  return rest.endsWith("000") ? `${units}.${rest}` : text
}

/** Major units without zeros that say nothing: a whole amount is written as an integer. */
export const plainDecimal = (amount: MinorUnits, currency: Currency): string => {
  const text = toDecimal(amount, currency)
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text
}

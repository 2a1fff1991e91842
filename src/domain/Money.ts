import { Result, Schema } from "effect"
import { type Currency, exponents } from "./Currency.ts"

/** The largest amount that a JSON integer can carry exactly: 2^53-1. */
export const LARGEST_AMOUNT = 9007199254740991n

/** A count of a currency's smallest unit; zero or more. Every amount of money inside the gateway has this type. */
export const MinorUnits = Schema.BigInt.pipe(
  Schema.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: LARGEST_AMOUNT })),
  Schema.brand("MinorUnits")
)
export type MinorUnits = typeof MinorUnits.Type

export const minor = (units: bigint): MinorUnits => MinorUnits.make(units)
export const ZERO = minor(0n)

export const add = (a: MinorUnits, b: MinorUnits): MinorUnits => minor(a + b)
/** `a` minus `b`, never less than zero. */
export const minusOrZero = (a: MinorUnits, b: MinorUnits): MinorUnits => (a > b ? minor(a - b) : ZERO)
export const larger = (a: MinorUnits, b: MinorUnits): MinorUnits => (a > b ? a : b)
export const smaller = (a: MinorUnits, b: MinorUnits): MinorUnits => (a < b ? a : b)

/**
 * A stored sum as it is shown. A sum outside the range of amounts, which only a person's mistake or damage can have caused, is
 * shown as the nearest amount: a report that fails is of no use, and `ledger verify` reads the sum as it is.
 */
export const nearestAmount = (units: bigint): MinorUnits =>
  minor(units < 0n ? 0n : units > LARGEST_AMOUNT ? LARGEST_AMOUNT : units)

const DECIMAL = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/

/**
 * A provider's decimal text in major units ("3200.00") as minor units. Fails with `inexact` when the text has non-zero digits
 * beyond the currency's exponent, or is no plain decimal: nothing is rounded.
 */
export const fromDecimal = (text: string, currency: Currency): Result.Result<MinorUnits, "inexact"> =>
  Result.filterOrFail(
    scaled(text, currency),
    ({ rest }) => !/[1-9]/.test(rest),
    () => "inexact" as const
  ).pipe(Result.map(({ units }) => units))

/** As `fromDecimal`, rounded up, for an amount to hold: a provider may compute fees with more decimals than the currency has. */
export const fromDecimalUp = (text: string, currency: Currency): Result.Result<MinorUnits, "inexact"> =>
  Result.flatMap(scaled(text, currency), ({ rest, units }) => {
    const up = /[1-9]/.test(rest) ? units + 1n : units
    return up > LARGEST_AMOUNT ? Result.fail("inexact" as const) : Result.succeed(minor(up))
  })

/** As `fromDecimal`, for an exchanged amount: it is rounded down to what the wallet can hold. */
export const fromDecimalDown = (text: string, currency: Currency): Result.Result<MinorUnits, "inexact"> =>
  Result.map(scaled(text, currency), ({ units }) => units)

/** Whether a decimal is valid but exceeds the largest amount in minor units. */
export const isBeyond = (text: string, currency: Currency): boolean => (parsed(text, currency)?.units ?? 0n) > LARGEST_AMOUNT

/** Minor units as a decimal in major units with exactly the currency's decimals: 10050 KES is "100.50", -500 UGX is "-500". */
export const toDecimal = (amount: bigint, currency: Currency): string => {
  if (amount < 0n) return `-${toDecimal(-amount, currency)}`
  const exponent = exponents[currency]
  if (exponent === 0) return amount.toString()
  const digits = amount.toString().padStart(exponent + 1, "0")
  return `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`
}

const scaled = (text: string, currency: Currency): Result.Result<{ units: MinorUnits; rest: string }, "inexact"> => {
  const decimal = parsed(text, currency)
  if (decimal === null || decimal.units > LARGEST_AMOUNT) return Result.fail("inexact")
  return Result.succeed({ units: minor(decimal.units), rest: decimal.rest })
}

/** A plain decimal as minor units of any size, and its digits beyond them; null for any other text. */
const parsed = (text: string, currency: Currency): { readonly units: bigint; readonly rest: string } | null => {
  const match = DECIMAL.exec(text)
  if (match === null) return null
  const [, whole = "0", fraction = ""] = match
  const exponent = exponents[currency]
  return { units: BigInt(whole + fraction.slice(0, exponent).padEnd(exponent, "0")), rest: fraction.slice(exponent) }
}

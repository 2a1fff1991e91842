import { Result } from "effect"
import { type Currency, exponents } from "../../domain/Currency.ts"
import { LARGEST_AMOUNT, type MinorUnits, minor } from "../../domain/Money.ts"
import type { AmountFormat } from "../ProviderStatus.ts"

// Paystack counts hundredths of every currency, even of one without decimals: XOF 500 is 50000.

const PAYSTACK_DECIMALS = 2

const subunitsOfOne = (currency: Currency): bigint => 10n ** BigInt(PAYSTACK_DECIMALS - exponents[currency])

export const toSubunits = (amount: bigint, currency: Currency): bigint => amount * subunitsOfOne(currency)

/** `inexact` when it is not a whole number, or not a multiple of our minor unit. */
export const fromSubunits = (text: string, currency: Currency): Result.Result<MinorUnits, "inexact"> =>
  Result.flatMap(counted(text, currency), ({ rest, units }) => (rest === 0n ? Result.succeed(units) : Result.fail("inexact")))

/** A fee that is finer than the currency is rounded up, as when it was reserved. */
export const fromSubunitsUp = (text: string, currency: Currency): Result.Result<MinorUnits, "inexact"> =>
  Result.map(counted(text, currency), ({ rest, units }) => (rest === 0n ? units : minor(units + 1n)))

/** The part of a balance that can be paid out. */
export const fromSubunitsDown = (text: string, currency: Currency): Result.Result<MinorUnits, "inexact"> =>
  Result.map(counted(text, currency), ({ units }) => units)

export const subunits: AmountFormat = { exact: fromSubunits, up: fromSubunitsUp, down: fromSubunitsDown }

const counted = (text: string, currency: Currency): Result.Result<{ units: MinorUnits; rest: bigint }, "inexact"> => {
  const digits = /^(\d{1,19})(?:\.0+)?$/.exec(text)?.[1]
  if (digits === undefined) return Result.fail("inexact")
  const one = subunitsOfOne(currency)
  const units = BigInt(digits) / one
  return units >= LARGEST_AMOUNT ? Result.fail("inexact") : Result.succeed({ units: minor(units), rest: BigInt(digits) % one })
}

import { type Currency, exponents } from "../domain/Currency.ts"

/** Units of each currency for one US dollar, in thousandths. */
const perDollar: Readonly<Record<Currency, bigint>> = {
  USD: 1000n,
  EUR: 900n,
  GBP: 800n,
  UGX: 3_700_000n,
  KES: 129_000n,
  RWF: 1_400_000n,
  GHS: 12_500n,
  NGN: 1_550_000n,
  TZS: 2_500_000n,
  ZMW: 25_000n,
  XAF: 600_000n,
  XOF: 600_000n
}

const RATE_DECIMALS = 14

/** How many `to` one `from` buys, cut off after fourteen decimals: "0.03486486486486". */
export const rate = (from: Currency, to: Currency): string =>
  decimal((perDollar[to] * 10n ** BigInt(RATE_DECIMALS)) / perDollar[from], RATE_DECIMALS)

/** The minor units of `to` that `amount` minor units of `from` buy, rounded down. */
export const convert = (amount: bigint, from: Currency, to: Currency): bigint => {
  const { numerator, denominator } = minorRatio(from, to)
  return (amount * numerator) / denominator
}

/** The smallest number of minor units of `from` that buys `amount` of `to`. */
export const sourceFor = (amount: bigint, from: Currency, to: Currency): bigint => {
  const { numerator, denominator } = minorRatio(from, to)
  return (amount * denominator + numerator - 1n) / numerator
}

/** The same in major units with four more decimals than `to` has, as a provider that computes with floats would write it. */
export const convertRaw = (amount: bigint, from: Currency, to: Currency): string => {
  const { numerator, denominator } = minorRatio(from, to)
  return decimal((amount * numerator * 10_000n) / denominator, exponents[to] + 4)
}

const minorRatio = (from: Currency, to: Currency) => ({
  numerator: perDollar[to] * 10n ** BigInt(exponents[to]),
  denominator: perDollar[from] * 10n ** BigInt(exponents[from])
})

const decimal = (units: bigint, decimals: number): string => {
  const digits = units.toString().padStart(decimals + 1, "0")
  const fraction = digits.slice(-decimals).replace(/0+$/, "")
  return digits.slice(0, -decimals) + (fraction === "" ? "" : `.${fraction}`)
}

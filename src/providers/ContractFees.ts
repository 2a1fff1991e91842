import type { Rule } from "../ConfigRules.ts"
import type { Direction, Method } from "../domain/Corridor.ts"
import { type Currency, isCurrency } from "../domain/Currency.ts"
import type { Instant } from "../domain/Instant.ts"
import { LARGEST_AMOUNT, type MinorUnits, minor } from "../domain/Money.ts"
import type { StatusQuery } from "../services/ports/Provider.ts"

/** A provider's contract fee for amounts up to `upTo`, in minor units, for providers whose API does not report it. */
export interface FeeBand {
  /** Inclusive; null: no upper bound. */
  readonly upTo: bigint | null
  /** In hundred-millionths of the amount: a percentage with six decimals. */
  readonly share: bigint
  readonly flat: bigint
  readonly minimum: bigint
  /** Null: no maximum. */
  readonly maximum: bigint | null
}

/** The contract's terms for payments that match every member that is not null. */
export interface FeeEntry {
  /** The name of the entry, for operators. */
  readonly name: string
  readonly direction: Direction
  readonly currency: Currency | null
  readonly country: string | null
  readonly method: Method | null
  readonly network: string | null
  /** The start of its validity; null: valid whenever no entry of a schedule is. */
  readonly from: Instant | null
  /** For a payout: the fee is refunded when the whole payout is returned. */
  readonly returns?: true
  /** In ascending order; the last one has no upper bound. */
  readonly bands: ReadonlyArray<FeeBand>
}

/** All terms of one contract. Entries that can apply to one payment differ in how specific they are, or in their beginning. */
export type ContractFees = ReadonlyArray<FeeEntry>

/** A payment whose fee is requested. `network` is null while unknown. */
export interface PricedPayment {
  readonly direction: Direction
  readonly country: string
  readonly currency: Currency
  readonly method: Method
  readonly network: string | null
  readonly amount: MinorUnits
  readonly at: Instant
}

/** The members that distinguish entries. */
export const feeKeys = ["country", "method", "network"] as const

const WHOLE = 100_000_000n

/** A percentage from 0 to 100 with at most six decimals, in hundred-millionths; undefined for any other text. */
export const shareOf = (percent: string): bigint | undefined => {
  const [, whole, fraction = ""] = /^(0|[1-9]\d{0,2})(?:\.(\d{1,6}))?$/.exec(percent) ?? []
  const share = whole === undefined ? undefined : BigInt(whole + fraction.padEnd(6, "0"))
  return share === undefined || share > WHOLE ? undefined : share
}

/** The entry that applies: the most specific one that covers the payment, and of its versions the newest that has begun. */
export const feeEntryFor = (fees: ContractFees, payment: Omit<PricedPayment, "amount">): FeeEntry | undefined => {
  const [first] = fees
    .filter((entry) => covers(entry, payment) && (entry.from ?? payment.at) <= payment.at)
    .sort((a, b) => saysOf(b) - saysOf(a) || (b.from ?? 0) - (a.from ?? 0))
  return first
}

/** The share of the amount, rounded up to a minor unit, plus the flat part, kept between the minimum and the maximum. */
export const feeBy = ({ bands }: Pick<FeeEntry, "bands">, amount: MinorUnits): MinorUnits => {
  const band = bands.find(({ upTo }) => upTo === null || amount <= upTo)
  if (band === undefined) throw new Error("the last band of a fee has no end")
  const { flat, maximum, minimum, share } = band
  const whole = (amount * share + WHOLE - 1n) / WHOLE + flat
  const least = whole < minimum ? minimum : whole
  const fee = maximum !== null && least > maximum ? maximum : least
  return minor(fee > LARGEST_AMOUNT ? LARGEST_AMOUNT : fee)
}

/** Undefined when the contract has no entry for the payment. */
export const contractFee = (fees: ContractFees, payment: PricedPayment): MinorUnits | undefined => {
  const entry = feeEntryFor(fees, payment)
  return entry === undefined ? undefined : feeBy(entry, payment.amount)
}

/** The fee of such a charge: fixed when it was opened, else by the contract at that time; null when neither is known. */
export const chargeFee =
  (fees: ContractFees, { charge, currency, sentAt }: Pick<StatusQuery, "charge" | "currency" | "sentAt">) =>
  (amount: MinorUnits): MinorUnits | null => {
    if (charge === undefined) return null
    const { country, fee, method, network } = charge
    if (fee !== null && amount === charge.amount) return fee
    return contractFee(fees, { direction: "collection", country, currency, method, network, amount, at: sentAt }) ?? null
  }

/** When the contract's terms for such a payment change next; undefined when they do not. */
export const nextFeeChange = (fees: ContractFees, payment: Omit<PricedPayment, "amount">): Instant | undefined =>
  fees
    .flatMap((entry) => (entry.from !== null && entry.from > payment.at && covers(entry, payment) ? [entry.from] : []))
    .sort((a, b) => a - b)[0]

/** The amounts at which a band begins that costs less than the one before it. Only there the fee falls as the amount rises. */
export const fallsIn = ({ bands }: Pick<FeeEntry, "bands">): ReadonlyArray<MinorUnits> =>
  bands.flatMap(({ upTo }) => {
    if (upTo === null || upTo >= LARGEST_AMOUNT) return []
    const next = minor(upTo + 1n)
    return feeBy({ bands }, next) < feeBy({ bands }, minor(upTo)) ? [next] : []
  })

const covers = (entry: FeeEntry, payment: Omit<PricedPayment, "amount" | "at">): boolean =>
  entry.direction === payment.direction &&
  (entry.currency === null || entry.currency === payment.currency) &&
  feeKeys.every((key) => entry[key] === null || entry[key] === payment[key])

/** An entry of a schedule takes precedence over a plain setting. */
const saysOf = (entry: FeeEntry): number => (entry.from === null ? -1 : feeKeys.filter((key) => entry[key] !== null).length)

const plain = { currency: null, country: null, method: null, network: null, from: null } as const

const bandOf = (text: string): FeeBand | undefined => {
  const one = { upTo: null, flat: 0n, minimum: 0n, maximum: null, share: 0n }
  if (/^\d{1,12}$/.test(text)) return { ...one, flat: BigInt(text) }
  const share = /^\d{1,2}(\.\d{1,2})?%$/.test(text) ? shareOf(text.slice(0, -1).replace(/^0(?=\d)/, "")) : undefined
  return share === undefined ? undefined : { ...one, share }
}

const isMethod = (text: string | undefined): text is Method => text === "momo" || text === "bank" || text === "wallet"

/** `UGX:momo:1000,KES:bank:1%` */
export const payoutFees: Rule<ContractFees> = {
  meaning: "a comma list of fees such as UGX:momo:1000 (minor units) or KES:bank:1.5%",
  of: (value) => {
    const fees = value.split(",").flatMap((item): ReadonlyArray<FeeEntry> => {
      const [currency, method, text = "", ...more] = item.trim().split(":")
      const band = bandOf(text)
      return more.length === 0 && isCurrency(currency) && isMethod(method) && band !== undefined
        ? [{ ...plain, name: `PAYOUT_FEES ${item.trim()}`, direction: "payout", currency, method, bands: [band] }]
        : []
    })
    return fees.length === value.split(",").length ? fees : undefined
  }
}

/** `1.5%`, or minor units. */
export const collectionFee: Rule<ContractFees> = {
  meaning: "a percentage such as 1.5%, or minor units",
  of: (value) => {
    const band = bandOf(value)
    return band === undefined
      ? undefined
      : [{ ...plain, name: `COLLECTION_FEE ${value}`, direction: "collection", bands: [band] }]
  }
}

import { Schema } from "effect"
import { Currency } from "./Currency.ts"
import { MinorUnits, minusOrZero, smaller, ZERO } from "./Money.ts"

/**
 * The accounts of one tenant, mode and currency. A claim of the tenant is positive, and every entry sums to zero. `available`
 * and `reserved` are what the tenant has. The flow accounts show where money came from or went, with the opposite sign. `pool`
 * and `drift` hold what a provider took beyond the held fee, which the gateway bears. `receivable` is the tenant's debt to the
 * gateway, negative while there is one.
 */
export const Account = Schema.Literals([
  "available",
  "reserved",
  "collected",
  "paid_out",
  "provider_fees",
  "credited",
  "debited",
  "fx_in",
  "fx_out",
  "returned",
  "receivable",
  "drift",
  "pool"
])
export type Account = typeof Account.Type

/** The gateway's own accounts: a posting there does not move the tenant's money. */
export const isGateways = (account: Account): boolean => account === "drift" || account === "pool"

/** The sum of the postings to one account, in the entries' common currency. */
export const sumPosted = (entries: ReadonlyArray<Pick<Entry, "postings">>, account: Account): bigint =>
  entries
    .flatMap(({ postings }) => postings)
    .reduce((sum, posting) => (posting.account === account ? sum + posting.amount : sum), 0n)

export const Posting = Schema.Struct({ currency: Currency, account: Account, amount: Schema.BigInt })
export type Posting = typeof Posting.Type

/**
 * `settle`, `exchange` and `release` share the slot `close`, so that only one of them can ever exist for a transaction. Each
 * case of a record may have its correction, so corrections are numbered (`slotOf`).
 */
export const slotByPhase = {
  credit: "open",
  debit: "open",
  reserve: "open",
  collect: "close",
  settle: "close",
  release: "close",
  exchange: "close",
  return: "return",
  correct: "correction"
} as const
export const Phase = Schema.Literals([
  "credit",
  "debit",
  "reserve",
  "collect",
  "settle",
  "release",
  "exchange",
  "return",
  "correct"
])
export type Phase = typeof Phase.Type

/** One balanced entry. */
export interface Entry {
  readonly phase: Phase
  readonly postings: ReadonlyArray<Posting>
  /** The number of a correction within its record; absent for the first. */
  readonly number?: number
}

/** The slot of an entry, which identifies it within its record: `correction`, `correction-2` and so on. */
export const slotOf = ({ number = 1, phase }: Entry): string =>
  number === 1 ? slotByPhase[phase] : `${slotByPhase[phase]}-${number}`

/** The correction, numbered as the next one of a record with these slots. */
export const nextCorrection = (entry: Entry, slots: ReadonlyArray<string>): Entry => {
  const earlier = slots.filter((slot) => slot.startsWith(slotByPhase.correct)).length
  return earlier === 0 ? entry : { ...entry, number: earlier + 1 }
}

type Lines = ReadonlyArray<readonly [Account, bigint]>

const entry = (phase: Phase, currency: Currency, lines: Lines): Entry => ({ phase, postings: postingsOf(currency, lines) })

const postingsOf = (currency: Currency, lines: Lines): ReadonlyArray<Posting> =>
  lines.filter(([, amount]) => amount !== 0n).map(([account, amount]) => ({ currency, account, amount }))

export const credit = (currency: Currency, amount: MinorUnits): Entry =>
  entry("credit", currency, [
    ["available", amount],
    ["credited", -amount]
  ])

export const debit = (currency: Currency, amount: MinorUnits): Entry =>
  entry("debit", currency, [
    ["available", -amount],
    ["debited", amount]
  ])

export const reserve = (currency: Currency, held: MinorUnits): Entry =>
  entry("reserve", currency, [
    ["available", -held],
    ["reserved", held]
  ])

/** Releases the hold, except for the fee that the provider kept for a failed payment. */
export const release = (currency: Currency, held: MinorUnits, kept: MinorUnits = ZERO): Entry =>
  entry("release", currency, [
    ["reserved", -held],
    ["available", held - kept],
    ["provider_fees", kept]
  ])

/** The tenant pays the smaller of the held and the actual fee. The rest of the hold is released; an excess is our drift. */
export const settle = (currency: Currency, principal: MinorUnits, heldFee: MinorUnits, actualFee: MinorUnits): Entry => {
  const charged = smaller(actualFee, heldFee)
  const excess = minusOrZero(actualFee, heldFee)
  return entry("settle", currency, [
    ["reserved", -(principal + heldFee)],
    ["paid_out", principal],
    ["provider_fees", charged],
    ["available", heldFee - charged],
    ["drift", excess],
    ["pool", -excess]
  ])
}

/** Each currency balances by itself: the amounts that leave one position and enter the other have no common unit. */
export const exchange = (from: Currency, source: MinorUnits, to: Currency, destination: MinorUnits): Entry => ({
  phase: "exchange",
  postings: [
    ...postingsOf(from, [
      ["reserved", -source],
      ["fx_out", source]
    ]),
    ...postingsOf(to, [
      ["available", destination],
      ["fx_in", -destination]
    ])
  ]
})

export const collect = (currency: Currency, amount: MinorUnits, fee: MinorUnits): Entry =>
  entry("collect", currency, [
    ["available", amount - fee],
    ["collected", -amount],
    ["provider_fees", fee]
  ])

/** The principal that came back, and the fee where the provider returned it. */
export const returnFunds = (currency: Currency, amount: MinorUnits, fee: MinorUnits): Entry =>
  entry("return", currency, [
    ["available", amount + fee],
    ["returned", -(amount + fee)]
  ])

/** How a person's correction changes the flows, each with its natural sign: more paid out, collected, charged or returned. */
interface Correction {
  readonly paidOut?: bigint
  readonly collected?: bigint
  readonly returned?: bigint
  readonly fees: bigint
  /** The provider's charge beyond the held fee. */
  readonly drift?: bigint
}

export const correct = (
  currency: Currency,
  { collected = 0n, drift = 0n, fees, paidOut = 0n, returned = 0n }: Correction
): Entry =>
  entry("correct", currency, [
    ["available", collected + returned - paidOut - fees],
    ["collected", -collected],
    ["returned", -returned],
    ["paid_out", paidOut],
    ["provider_fees", fees],
    ["drift", drift],
    ["pool", -drift]
  ])

/**
 * The entry as it is posted against the current balances: what `available` cannot cover becomes the tenant's receivable, and
 * incoming money covers the receivable first.
 */
export const coveringReceivable = (
  { phase, postings }: Entry,
  held: (currency: Currency) => { readonly available: bigint; readonly receivable: bigint }
): Entry => ({
  phase,
  postings: postings.flatMap((line) => {
    if (line.account !== "available") return [line]
    const { amount, currency } = line
    const { available, receivable } = held(currency)
    const short = amount + available
    const owed = amount < 0n ? (short < 0n ? short : 0n) : amount < receivable ? amount : receivable
    return postingsOf(currency, [
      ["available", amount - owed],
      ["receivable", owed]
    ])
  })
})

/** A float position: the sum of a tenant's postings in one currency (contract FLOAT-5). */
export const FloatPosition = Schema.Struct({
  currency: Currency,
  available: MinorUnits,
  reserved: MinorUnits,
  collected: MinorUnits,
  paidOut: MinorUnits,
  providerFees: MinorUnits,
  // Absent in the positions that adjustments stored before these fields existed.
  credited: Schema.optionalKey(MinorUnits),
  debited: Schema.optionalKey(MinorUnits),
  fxIn: Schema.optionalKey(MinorUnits),
  fxOut: Schema.optionalKey(MinorUnits),
  returned: Schema.optionalKey(MinorUnits),
  /** The part of the debt that income has not covered: zero while something is available. */
  owed: Schema.optionalKey(MinorUnits),
  /** The same for operators; absent where it owes nothing. */
  receivable: Schema.optionalKey(MinorUnits)
})
export type FloatPosition = typeof FloatPosition.Type

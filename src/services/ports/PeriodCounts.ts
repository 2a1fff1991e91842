import { Context, type Effect, Schema } from "effect"
import { Mode } from "../../domain/Ids.ts"
import { Instant } from "../../domain/Instant.ts"

export const PERIOD_MS = 5 * 60_000

/** Something counted: a transaction's end or a callback. Every member has few possible values, and none names a tenant. */
export const Counted = Schema.Struct({
  what: Schema.Literals(["payout", "collection", "exchange", "callback"]),
  mode: Mode,
  provider: Schema.String,
  /** As in `FinalOutcome`; empty for a callback. */
  corridor: Schema.String,
  /** The final status of a transaction, or how a callback was classified. */
  outcome: Schema.String,
  /** The failure's code, `WALLET_TOO_SMALL`, or `NO_FAILURE`. */
  failure: Schema.String
})
export type Counted = typeof Counted.Type

/** Replaces the failure's code when our wallet at the provider held too little. It is also the code that the tenant gets. */
export const WALLET_TOO_SMALL = "insufficient_wallet_float"

/** How many of one kind all processes counted in the period, or the longer step, that begins at `at`. */
export const PeriodCount = Schema.Struct({ ...Counted.fields, at: Instant, count: Schema.Number })
export type PeriodCount = typeof PeriodCount.Type

/** `outcome`: new, repeated, or refused because the provider did not sign it. */
export const CallbackCount = Schema.Struct({ provider: Schema.String, mode: Mode, outcome: Schema.String, count: Schema.Number })
export type CallbackCount = typeof CallbackCount.Type

/** How many transactions ended because our wallet at the account was too small. */
export const WalletRefusals = Schema.Struct({ provider: Schema.String, mode: Mode, count: Schema.Number })
export type WalletRefusals = typeof WalletRefusals.Type

/**
 * Counts of ended transactions and received callbacks in periods of `PERIOD_MS`, for charts and alerts, so that no history has
 * to be read. A count is held in memory until it is written, and is lost when the process dies first. Each process writes its
 * totals, so that a repeated write counts once. No decision about money depends on them.
 */
export class PeriodCounts extends Context.Service<
  PeriodCounts,
  {
    readonly add: (counted: Counted) => Effect.Effect<void>
    /** Writes the counts since the last write. When the database fails this is a defect, and the counts stay in memory. */
    readonly write: Effect.Effect<void>
    /** The transactions that ended since `from`, in steps of `stepMs`, a multiple of the period; oldest first. */
    readonly ended: (mode: Mode, from: Instant, stepMs: number) => Effect.Effect<ReadonlyArray<PeriodCount>>
    /** The callbacks received since `from`, by account and outcome. */
    readonly callbacks: (from: Instant) => Effect.Effect<ReadonlyArray<CallbackCount>>
    /** The transactions that ended since `from` because a wallet was too small, by account; accounts without any are left out. */
    readonly walletRefusals: (from: Instant) => Effect.Effect<ReadonlyArray<WalletRefusals>>
    /** Removes at most `limit` counts of periods that began before `before`. Returns the number removed. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/PeriodCounts") {}

import { Context, type Effect, Schema } from "effect"
import { Mode } from "../../domain/Ids.ts"
import { Instant } from "../../domain/Instant.ts"

export const PERIOD_MS = 5 * 60_000

/** The kind of a thing that is counted: a transaction that ended, or a callback that came. All members are words of which there are few, and none names a tenant. */
export const Counted = Schema.Struct({
  what: Schema.Literals(["payout", "collection", "exchange", "callback"]),
  mode: Mode,
  provider: Schema.String,
  /** As `FinalOutcome` names it; empty for a callback. */
  corridor: Schema.String,
  /** The final status of a transaction, or what a callback was. */
  outcome: Schema.String,
  /** The failure's code, `WALLET_TOO_SMALL`, or `NO_FAILURE`. */
  failure: Schema.String
})
export type Counted = typeof Counted.Type

/** In the place of the failure's code where our wallet at the provider did not hold enough: as the tenant is answered. */
export const WALLET_TOO_SMALL = "insufficient_wallet_float"

/** How many of one kind all processes counted in the period, or the longer step, that begins at `at`. */
export const PeriodCount = Schema.Struct({ ...Counted.fields, at: Instant, count: Schema.Number })
export type PeriodCount = typeof PeriodCount.Type

/** `outcome`: new, repeated, or refused because the provider did not sign them. */
export const CallbackCount = Schema.Struct({ provider: Schema.String, mode: Mode, outcome: Schema.String, count: Schema.Number })
export type CallbackCount = typeof CallbackCount.Type

/** How many transactions ended because our wallet at the account was too small. */
export const WalletRefusals = Schema.Struct({ provider: Schema.String, mode: Mode, count: Schema.Number })
export type WalletRefusals = typeof WalletRefusals.Type

/**
 * Transactions that ended and callbacks that came, counted in periods of `PERIOD_MS`, for charts and for what needs attention: no history is read for them. A count is
 * kept in memory until it is written: it is lost where the process dies before. Each process writes its own counts whole, so that
 * writing them twice counts once. Money is never decided by them.
 */
export class PeriodCounts extends Context.Service<
  PeriodCounts,
  {
    readonly add: (counted: Counted) => Effect.Effect<void>
    /** Writes what was counted since the last time. A database that fails is a defect, and loses none. */
    readonly write: Effect.Effect<void>
    /** The transactions that ended from `from` on in steps of `stepMs`, which is a multiple of the period; the oldest first. */
    readonly ended: (mode: Mode, from: Instant, stepMs: number) => Effect.Effect<ReadonlyArray<PeriodCount>>
    /** The callbacks that came from then on, by account and by what they were. */
    readonly callbacks: (from: Instant) => Effect.Effect<ReadonlyArray<CallbackCount>>
    /** The transactions that ended from then on because of a wallet that was too small, by account; accounts without any are not there. */
    readonly walletRefusals: (from: Instant) => Effect.Effect<ReadonlyArray<WalletRefusals>>
    /** Removes at most `limit` of periods that began before `before`, and answers how many. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/PeriodCounts") {}

import { Context, type Effect, type Option, Schema } from "effect"
import { Mode } from "../../domain/Ids.ts"
import { Instant } from "../../domain/Instant.ts"

/** A difference as it is kept: names of theirs that stand in no record of ours are masked. */
export const KeptDifference = Schema.Struct({
  kind: Schema.String,
  mode: Mode,
  account: Schema.String,
  /** Ours. */
  reference: Schema.NullOr(Schema.String),
  providerReference: Schema.NullOr(Schema.String),
  ours: Schema.NullOr(Schema.String),
  theirs: Schema.NullOr(Schema.String),
  /** Null where nothing explains it. */
  because: Schema.NullOr(Schema.String)
})
export type KeptDifference = typeof KeptDifference.Type

/** The last comparison of a provider's account with ours for one day. */
export const ReconciliationResult = Schema.Struct({
  provider: Schema.String,
  /** A day of UTC, as 2026-01-31. */
  day: Schema.String,
  at: Instant,
  ours: Schema.Number,
  theirs: Schema.Number,
  unreadable: Schema.Number,
  /** Those that nothing explains. */
  differences: Schema.Number,
  explained: Schema.Number
})
export type ReconciliationResult = typeof ReconciliationResult.Type

/** With what was found, at most `KEPT_AT_MOST` of it; what nothing explains comes first. */
export interface FoundReconciliation extends ReconciliationResult {
  readonly found: ReadonlyArray<KeptDifference>
}

export const KEPT_AT_MOST = 1_000
export const RECONCILIATIONS_KEPT_MS = 90 * 24 * 3_600_000

/** The results of comparisons with providers, for operators: one result a provider and day, kept for `RECONCILIATIONS_KEPT_MS`. */
export class Reconciliations extends Context.Service<
  Reconciliations,
  {
    /** In the place of the one before of that provider and day; one that was made earlier changes nothing. */
    readonly keep: (result: FoundReconciliation) => Effect.Effect<void>
    /** The newest days first, at most `limit`. */
    readonly list: (limit: number) => Effect.Effect<ReadonlyArray<ReconciliationResult>>
    readonly find: (provider: string, day: string) => Effect.Effect<Option.Option<FoundReconciliation>>
    /** Removes at most `limit` that were made before, and answers how many. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/Reconciliations") {}

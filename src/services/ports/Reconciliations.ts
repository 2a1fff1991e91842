import { Context, type Effect, type Option, Schema } from "effect"
import { Mode } from "../../domain/Ids.ts"
import { Instant } from "../../domain/Instant.ts"

/** A stored difference. The provider's names that appear in none of our records are masked. */
export const KeptDifference = Schema.Struct({
  kind: Schema.String,
  mode: Mode,
  account: Schema.String,
  /** Our reference. */
  reference: Schema.NullOr(Schema.String),
  providerReference: Schema.NullOr(Schema.String),
  ours: Schema.NullOr(Schema.String),
  theirs: Schema.NullOr(Schema.String),
  /** The explanation; null when there is none. */
  because: Schema.NullOr(Schema.String)
})
export type KeptDifference = typeof KeptDifference.Type

/** The last comparison of a provider's account with our records for one day. */
export const ReconciliationResult = Schema.Struct({
  provider: Schema.String,
  /** A UTC day, as 2026-01-31. */
  day: Schema.String,
  at: Instant,
  ours: Schema.Number,
  theirs: Schema.Number,
  unreadable: Schema.Number,
  /** Only those without an explanation. */
  differences: Schema.Number,
  explained: Schema.Number
})
export type ReconciliationResult = typeof ReconciliationResult.Type

/** With the differences, at most `KEPT_AT_MOST`, unexplained ones first. */
export interface FoundReconciliation extends ReconciliationResult {
  readonly found: ReadonlyArray<KeptDifference>
}

export const KEPT_AT_MOST = 1_000
export const RECONCILIATIONS_KEPT_MS = 90 * 24 * 3_600_000

/** Results of reconciliations with providers, for operators: one per provider and day, kept for `RECONCILIATIONS_KEPT_MS`. */
export class Reconciliations extends Context.Service<
  Reconciliations,
  {
    /** Replaces the stored result of that provider and day; an older result than the stored one is ignored. */
    readonly keep: (result: FoundReconciliation) => Effect.Effect<void>
    /** The newest days first, at most `limit`. */
    readonly list: (limit: number) => Effect.Effect<ReadonlyArray<ReconciliationResult>>
    readonly find: (provider: string, day: string) => Effect.Effect<Option.Option<FoundReconciliation>>
    /** Removes at most `limit` results older than `before`. Returns the number removed. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/Reconciliations") {}

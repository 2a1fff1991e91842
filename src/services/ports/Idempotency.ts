import { Context, type Effect } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { IdempotencyScope } from "../../domain/RequestFingerprint.ts"

/** The right to run one request once. The fence grows with each claim of the key; only the newest claimant can commit anything. */
export interface Claim {
  readonly scope: IdempotencyScope
  readonly fence: bigint
  /** The reference that the transaction will have, should one be made. */
  readonly reference: Reference
}

/** An answer as it was sent: its status and its exact bytes. */
export interface StoredResponse {
  readonly status: number
  readonly body: string
}

export type Claimed =
  /** Nobody did this before, or whoever did it left nothing behind: go on. */
  | { readonly _tag: "Fresh"; readonly claim: Claim }
  /** It was done: send these bytes again. */
  | { readonly _tag: "Replay"; readonly response: StoredResponse }
  /** A transaction exists and no final answer was kept: answer from the transaction as it now is. `leased`: its request may still be under way. */
  | { readonly _tag: "Pinned"; readonly reference: Reference; readonly leased: boolean }
  /** The key was used with other parameters. */
  | { readonly _tag: "Reused" }
  /** Somebody is doing it right now. */
  | { readonly _tag: "Busy" }

/**
 * Storage of idempotency keys: which request holds a key, and the response that a repetition gets.
 *
 * Concurrency: of any number of requests with one key, exactly one gets `Fresh`. It holds the key for a lease; when the lease runs out, the
 * next claim gets a higher fence, and from then on nothing that the earlier claimant does is committed. The same claim is never granted twice.
 *
 * Failure: a key that is used, held or spent is a result. After a defect the key is released by its lease.
 */
export class Idempotency extends Context.Service<
  Idempotency,
  {
    /** Takes the key for one lease, or says why not. Asking twice inside the lease answers Busy the second time. */
    readonly claim: (scope: IdempotencyScope, fingerprint: Uint8Array) => Effect.Effect<Claimed>
    /** Keeps a refusal that came before any transaction. False when the claim is no longer the newest, or a transaction exists. */
    readonly complete: (claim: Claim, response: StoredResponse) => Effect.Effect<boolean>
    /** Forgets the claim, so that the key can run again. False, and nothing is done, when the claim was lost or a transaction exists. */
    readonly release: (claim: Claim) => Effect.Effect<boolean>
    /** Removes up to `limit` keys that were claimed before and have no open transaction; answers how many. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/Idempotency") {}

import { Context, type Effect, type Option } from "effect"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { IdempotencyScope } from "../../domain/RequestFingerprint.ts"
import type { Tenant } from "../../domain/Tenant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { UsedWindow, WindowUse } from "../../domain/VelocityLimits.ts"
import type { NonceUse } from "./Nonces.ts"

/** The rows that a request commits when it arrives, all of it at once. */
export interface ClaimRequest {
  readonly nonce: NonceUse
  readonly scope: IdempotencyScope
  readonly fingerprint: Uint8Array
  /** The windows that its transaction would be counted in. */
  readonly windows: ReadonlyArray<WindowUse>
}

/** The right to run one request once. The fence grows with each claim of the key; only the newest claimant can commit anything. */
export interface Claim {
  readonly scope: IdempotencyScope
  readonly fence: bigint
  /** The reference that the transaction will have, should one be made: the same for each claim of the key, until a transaction has it. */
  readonly reference: Reference
}

/** An answer as it was sent: its status and its exact bytes. */
export interface StoredResponse {
  readonly status: number
  readonly body: string
}

/** The key is new, or its earlier holder left nothing behind: go on. */
export interface FreshClaim {
  readonly _tag: "Fresh"
  readonly claim: Claim
  /** The tenant's, as they were when the key was claimed; null where it was not found. */
  readonly tenant: Pick<Tenant, "status" | "capabilities"> | null
  /** The request's windows, as they were when the key was claimed. */
  readonly windows: ReadonlyArray<UsedWindow>
}

export type Claimed =
  | FreshClaim
  /** It was done: send these bytes again. */
  | { readonly _tag: "Replay"; readonly response: StoredResponse }
  /** A transaction exists and no final answer was kept: answer from the transaction as it now is. `leased`: its request may still be under way. */
  | { readonly _tag: "Pinned"; readonly reference: Reference; readonly leased: boolean }
  /** Its transaction was forgotten by a restore, and operators booked what it had moved under this reference: it does not run again. */
  | { readonly _tag: "Booked"; readonly reference: Reference }
  /** The key was used with other parameters. */
  | { readonly _tag: "Reused" }
  /** Another request works with the key right now. */
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
    /**
     * Spends the nonce, and takes the key for one lease or says why not. The nonce is spent whatever the key answers. None where the nonce
     * was spent before: the key is left as it is then. Dies, as `Nonces.spend` does, where the answer to that commit is lost. Asking twice
     * inside the lease, with two nonces, answers Busy the second time.
     */
    readonly claim: (request: ClaimRequest) => Effect.Effect<Option.Option<Claimed>>
    /** Keeps a refusal that came before any transaction. False when the claim is no longer the newest, or a transaction exists. */
    readonly complete: (claim: Claim, response: StoredResponse) => Effect.Effect<boolean>
    /** Forgets the claim, so that the key can run again. False, and nothing is done, when the claim was lost or a transaction exists. */
    readonly release: (claim: Claim) => Effect.Effect<boolean>
    /** Removes up to `limit` keys that were claimed before and have no open transaction; answers how many. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/Idempotency") {}

/** Turns a result into the exact bytes of its response, so that what a commit stores is what is sent. Pure: the same result, the same bytes. */
export class ResponseEncoder extends Context.Service<
  ResponseEncoder,
  {
    /** `status` is the operation's own success status. */
    readonly success: (status: number, record: Transaction) => StoredResponse
    /** The status is the one that belongs to the error's code. */
    readonly error: (error: ApiError) => StoredResponse
  }
>()("gateway/services/ports/ResponseEncoder") {}

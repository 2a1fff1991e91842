import { Context, type Effect, type Option } from "effect"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { IdempotencyScope } from "../../domain/RequestFingerprint.ts"
import type { Tenant } from "../../domain/Tenant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { UsedWindow, WindowUse } from "../../domain/VelocityLimits.ts"
import type { NonceUse } from "./Nonces.ts"

/** The rows that a request commits when it arrives, all together. */
export interface ClaimRequest {
  readonly nonce: NonceUse
  readonly scope: IdempotencyScope
  readonly fingerprint: Uint8Array
  /** The windows in which its transaction would count. */
  readonly windows: ReadonlyArray<WindowUse>
}

/** The right to run one request once. The fence grows with each claim of the key; only the newest claimant can commit. */
export interface Claim {
  readonly scope: IdempotencyScope
  readonly fence: bigint
  /** The reference for the transaction that the request may create, the same for every claim until one has it. */
  readonly reference: Reference
  /** The end of its lease. A request that was paused for longer opens nothing, even if the key was not claimed again. */
  readonly leaseUntil: Instant
}

/** A response as it was sent: its status and its exact bytes. */
export interface StoredResponse {
  readonly status: number
  readonly body: string
}

/** The key is new, or its earlier holder left no result: run the request. */
export interface FreshClaim {
  readonly _tag: "Fresh"
  readonly claim: Claim
  /** The tenant when the key was claimed; null when it was not found. */
  readonly tenant: Pick<Tenant, "status" | "capabilities"> | null
  /** The request's windows when the key was claimed. */
  readonly windows: ReadonlyArray<UsedWindow>
}

export type Claimed =
  | FreshClaim
  /** The request is complete: send these bytes again. */
  | { readonly _tag: "Replay"; readonly response: StoredResponse }
  /**
   * A transaction exists, but no final response was stored: answer from the transaction's present state. `leased`: the first
   * request may still be running.
   */
  | { readonly _tag: "Pinned"; readonly reference: Reference; readonly leased: boolean }
  /** A restore lost the transaction, and operators booked its money under this reference: the request does not run again. */
  | { readonly _tag: "Booked"; readonly reference: Reference }
  /** The key was used with other parameters. */
  | { readonly _tag: "Reused" }
  /** Another request holds the key now. */
  | { readonly _tag: "Busy" }

/**
 * Storage of idempotency keys: which request holds a key, and the response for a repeated request.
 *
 * Concurrency: of any number of requests with one key, exactly one gets `Fresh` and holds the key for a lease. When the lease
 * expires, the next claim gets a higher fence, and the earlier claimant can no longer commit anything. A claim is never granted
 * twice.
 *
 * Failure: a key that is used, held or spent is a result. After a defect the key becomes free when its lease expires.
 */
export class Idempotency extends Context.Service<
  Idempotency,
  {
    /**
     * Spends the nonce, and claims the key for one lease or returns why not. The nonce is spent whatever the result for the
     * key. Returns none when the nonce was spent before; the key is then left alone. Dies, as `Nonces.spend` does, when the
     * outcome of the commit is unknown. A second call within the lease, with another nonce, returns Busy.
     */
    readonly claim: (request: ClaimRequest) => Effect.Effect<Option.Option<Claimed>>
    /** Stores a refusal from before any transaction. False when the claim is no longer the newest or a transaction exists. */
    readonly complete: (claim: Claim, response: StoredResponse) => Effect.Effect<boolean>
    /** Forgets the claim, so that the key is free again. False, without effect, when it was lost or a transaction exists. */
    readonly release: (claim: Claim) => Effect.Effect<boolean>
    /** Removes up to `limit` keys that were claimed before `before` and have no open transaction. Returns the number removed. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/Idempotency") {}

/** Encodes a result as its response's exact bytes: those committed are those sent. The same result gives the same bytes. */
export class ResponseEncoder extends Context.Service<
  ResponseEncoder,
  {
    /** `status`: the operation's success status. */
    readonly success: (status: number, record: Transaction) => StoredResponse
    /** The status follows from the error's code. */
    readonly error: (error: ApiError) => StoredResponse
  }
>()("gateway/services/ports/ResponseEncoder") {}

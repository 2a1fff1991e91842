import { Context, type Effect } from "effect"

/** A token bucket: it holds `burst` at most, begins full, and `count` come back evenly every `windowMs`. */
export interface RateLimit {
  readonly count: number
  readonly windowMs: number
  readonly burst: number
}

export type RateLimitReservation =
  | { readonly _tag: "Reserved"; readonly waitMs: number }
  | Extract<RateLimitDecision, { _tag: "Limited" }>

export type RateLimitDecision = { readonly _tag: "Allowed" } | { readonly _tag: "Limited"; readonly retryAfterSeconds: number }

/** Rate limits by token buckets, shared by all nodes where Redis is configured, else counted by each process. */
export class RateLimits extends Context.Service<
  RateLimits,
  {
    /**
     * Takes `tokens` from a bucket, at most as many as it can hold. A bucket exists from its first use on. A repeated request takes them
     * again; a refused call takes none. Never fails: where the shared store cannot be reached, this process counts for itself. `bucket` is
     * its kind, then its owner ("bank_resolution:key:…"). It is stored, so that a person's number stands in it only as a keyed hash.
     */
    readonly take: (bucket: string, limit: RateLimit, tokens: number) => Effect.Effect<RateLimitDecision>
    /** Gives back tokens, where the request proved not to be the owner's. Never fails. */
    readonly giveBack: (bucket: string, limit: RateLimit, tokens: number) => Effect.Effect<void>
    /**
     * Takes one token, or reserves the next one that comes back, and answers the wait for it; a later caller waits for the token after
     * that. A call that would have to wait for more than `longestMs` takes none. Never fails, as `take`.
     */
    readonly reserve: (bucket: string, limit: RateLimit, longestMs: number) => Effect.Effect<RateLimitReservation>
    /** Closes the bucket: no call gets a token for `forMs`. Closed twice, it opens at the later end. Never fails. */
    readonly close: (bucket: string, limit: RateLimit, forMs: number) => Effect.Effect<void>
  }
>()("gateway/services/ports/RateLimits") {}

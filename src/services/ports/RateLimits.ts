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
     * Takes so many tokens from a bucket, which exists from its first use on, or as many as it can hold where that is less. Each call takes them, also
     * when it is the same request again; a refused call takes none. Never fails: where the shared store cannot be reached, this process counts for itself.
     * `bucket` names its kind, then whose it is ("bank_resolution:key:…"); it is stored, so that a person's number stands in it only as
     * a keyed hash.
     */
    readonly take: (bucket: string, limit: RateLimit, tokens: number) => Effect.Effect<RateLimitDecision>
    /** Gives back tokens that were taken for what turned out to be nobody's request. Never fails. */
    readonly giveBack: (bucket: string, limit: RateLimit, tokens: number) => Effect.Effect<void>
    /**
     * Takes one token, also one that comes back only later: answers how long to wait for it, and whoever comes after waits for the next. A call that
     * would have to wait for more than `longestMs` takes none. Never fails, as `take`.
     */
    readonly reserve: (bucket: string, limit: RateLimit, longestMs: number) => Effect.Effect<RateLimitReservation>
    /** Nobody gets a token for so long; closed twice it is closed until the later end. Never fails. */
    readonly close: (bucket: string, limit: RateLimit, forMs: number) => Effect.Effect<void>
  }
>()("gateway/services/ports/RateLimits") {}

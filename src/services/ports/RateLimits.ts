import { Context, type Effect } from "effect"

/** A token bucket. It starts full with `burst` tokens, its maximum; `count` tokens are refilled evenly every `windowMs`. */
export interface RateLimit {
  readonly count: number
  readonly windowMs: number
  readonly burst: number
}

export type RateLimitReservation =
  | { readonly _tag: "Reserved"; readonly waitMs: number }
  | Extract<RateLimitDecision, { _tag: "Limited" }>

export type RateLimitDecision = { readonly _tag: "Allowed" } | { readonly _tag: "Limited"; readonly retryAfterSeconds: number }

/** Rate limits by token buckets, which all nodes share when Redis is configured; otherwise each process has its own. */
export class RateLimits extends Context.Service<
  RateLimits,
  {
    /**
     * Takes `tokens` from a bucket, at most as many as it can hold. A bucket exists from its first use. A repeated request
     * takes them again; a call that is limited takes none. Never fails: when the shared store cannot be reached, this process
     * counts on its own. `bucket` is its kind, then its owner ("bank_resolution:key:…"). It is stored, so a phone number may
     * appear in it only as a keyed hash.
     */
    readonly take: (bucket: string, limit: RateLimit, tokens: number) => Effect.Effect<RateLimitDecision>
    /** Gives tokens back when the request turned out not to come from the bucket's owner. Never fails. */
    readonly giveBack: (bucket: string, limit: RateLimit, tokens: number) => Effect.Effect<void>
    /**
     * Takes a token, or reserves the next one to be refilled and returns how long to wait for it; a later caller waits for the
     * one after. A caller that would wait longer than `longestMs` gets none. Never fails.
     */
    readonly reserve: (bucket: string, limit: RateLimit, longestMs: number) => Effect.Effect<RateLimitReservation>
    /** Closes the bucket: nobody gets a token for `forMs`. When it is closed twice, the later end applies. Never fails. */
    readonly close: (bucket: string, limit: RateLimit, forMs: number) => Effect.Effect<void>
  }
>()("gateway/services/ports/RateLimits") {}

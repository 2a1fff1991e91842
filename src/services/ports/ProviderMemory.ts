import { Context, type Effect, type Option, type Redacted } from "effect"
import type { Instant } from "../../domain/Instant.ts"

/**
 * Memory that the adapters of all nodes share: for a token of which an account has only one, and for answers that a provider
 * delivers later to any node. Values are sealed. Names must hold no secret and no phone number. No decision about money depends
 * on it alone; a lost value is fetched or queried again.
 */
export class ProviderMemory extends Context.Service<
  ProviderMemory,
  {
    /** Stores the value until `until`, replacing the one before. */
    readonly put: (name: string, value: Redacted.Redacted, until: Instant) => Effect.Effect<void>
    /** None when no value is stored or it has expired. */
    readonly get: (name: string) => Effect.Effect<Option.Option<Redacted.Redacted>>
    /** As `get`, and removes the value: of several callers exactly one gets it. */
    readonly take: (name: string) => Effect.Effect<Option.Option<Redacted.Redacted>>
    /** True for one caller, until `until` or until that caller takes the name. A given value is stored by the same write. */
    readonly claim: (name: string, until: Instant, value?: Redacted.Redacted) => Effect.Effect<boolean>
    /** Removes at most `limit` values that expired before `before`. Returns the number removed. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/ProviderMemory") {}

import { Context, type Effect, type Option, type Redacted } from "effect"
import type { Instant } from "../../domain/Instant.ts"

/**
 * The memory that the adapters of all nodes share: a token of which an account has only one, and what a provider answered later than it was asked, to
 * whichever node took it. Values are sealed; a name has nothing secret in it, and nobody's number. Nothing here decides about money by
 * itself, and what is lost is fetched or asked again.
 */
export class ProviderMemory extends Context.Service<
  ProviderMemory,
  {
    /** Keeps the value until then, in place of what was there. */
    readonly put: (name: string, value: Redacted.Redacted, until: Instant) => Effect.Effect<void>
    /** None where nothing is kept, or no longer. */
    readonly get: (name: string) => Effect.Effect<Option.Option<Redacted.Redacted>>
    /** The same, and it is gone with that: of several callers one gets it. */
    readonly take: (name: string) => Effect.Effect<Option.Option<Redacted.Redacted>>
    /** True for one caller until then, or until it takes the name. The value, where one is given, is kept with the claim, by the same write. */
    readonly claim: (name: string, until: Instant, value?: Redacted.Redacted) => Effect.Effect<boolean>
    /** Removes at most `limit` that ended before `before`, and answers how many. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/ProviderMemory") {}

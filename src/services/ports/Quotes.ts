import { Context, type Effect, type Option } from "effect"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Quote } from "../../domain/Quote.ts"

/** Quotes of exchanges, each its tenant's and mode's own. */
export class Quotes extends Context.Service<
  Quotes,
  {
    /** Keeps a quote for a day after it expires; afterwards it is as if it had never been. */
    readonly put: (quote: Quote) => Effect.Effect<void>
    /** None for an absent one, a foreign one or one of the other mode alike; an expired or taken one is found. */
    readonly find: (appId: AppId, mode: Mode, id: Reference) => Effect.Effect<Option.Option<Quote>>
    /** Takes it for one idempotency key; false when another key has it. The same key may take it again, for a key opens once. */
    readonly take: (quote: Quote, key: string) => Effect.Effect<boolean>
    /** Gives it back where nothing was opened with it; does nothing when another key has it. */
    readonly release: (quote: Quote, key: string) => Effect.Effect<void>
  }
>()("gateway/services/ports/Quotes") {}

import { Context, type Effect, type Option } from "effect"
import type { Quote } from "../../domain/Exchange.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Claim } from "./Idempotency.ts"

/**
 * FX quotes, each one's own tenant's and mode's. A quote makes one exchange: `take` grants it to one idempotency key, and of requests that take
 * it at once exactly one wins.
 */
export class Quotes extends Context.Service<
  Quotes,
  {
    /** Keeps a quote for a day after it expires; afterwards it is as if it had never been. */
    readonly put: (quote: Quote) => Effect.Effect<void>
    /** None for an absent one, a foreign one or one of the other mode alike; an expired or taken one is found. */
    readonly find: (appId: AppId, mode: Mode, id: Reference) => Effect.Effect<Option.Option<Quote>>
    /** Takes it for one idempotency key; false when another key has it. A newer claim of the same key takes it over, for a key opens once. */
    readonly take: (quote: Quote, claim: Claim) => Effect.Effect<boolean>
    /** Gives it back where nothing was opened with it; does nothing when another claim has it, be it of the same key. */
    readonly release: (quote: Quote, claim: Claim) => Effect.Effect<void>
  }
>()("gateway/services/ports/Quotes") {}

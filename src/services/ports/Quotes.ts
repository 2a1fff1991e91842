import { Context, type Effect, type Option } from "effect"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Quote } from "../../domain/Quote.ts"
import type { Claim } from "./Idempotency.ts"

/** Quotes of exchanges, each its tenant's and mode's own. */
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

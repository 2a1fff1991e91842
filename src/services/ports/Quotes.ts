import { Context, type Effect, type Option } from "effect"
import type { Quote } from "../../domain/Exchange.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Claim } from "./Idempotency.ts"

/** FX quotes of one tenant and mode, each for one exchange: `take` grants it to exactly one idempotency key. */
export class Quotes extends Context.Service<
  Quotes,
  {
    /** Stores a quote until a day after it expires; then it is deleted. */
    readonly put: (quote: Quote) => Effect.Effect<void>
    /** None when it does not exist, belongs to another tenant or is of the other mode. Expired and taken quotes are found. */
    readonly find: (appId: AppId, mode: Mode, id: Reference) => Effect.Effect<Option.Option<Quote>>
    /** Takes the quote for one idempotency key, whose newer claims take it over; false when another key has it. */
    readonly take: (quote: Quote, claim: Claim) => Effect.Effect<boolean>
    /** Gives the quote back when nothing was opened with it. Does nothing when another claim has it, even one of the same key. */
    readonly release: (quote: Quote, claim: Claim) => Effect.Effect<void>
  }
>()("gateway/services/ports/Quotes") {}

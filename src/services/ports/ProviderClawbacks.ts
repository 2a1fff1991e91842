import type { Effect } from "effect"
import type { Clawback } from "../../domain/Clawback.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"

/** Which disputes and refunds to list: those begun in this time, and only of one charge when its handle is given. */
export interface ClawbackQuery {
  readonly since: Instant
  readonly until: Instant
  readonly providerReference: string | null
}

/** A dispute or refund. It names the charge by our reference, by the provider's, or by both. */
export interface ListedClawback {
  readonly reference: Reference | null
  readonly providerReference: string | null
  /** `stored`: the charge's currency, for a list that names none. */
  readonly factIn: (stored: Currency) => Clawback
}

/** `isWhole`: every list of the account was read to its end. */
export interface ListedClawbacks {
  readonly listed: ReadonlyArray<ListedClawback>
  readonly isWhole: boolean
}

/**
 * The disputes of collections and the refunds that an account lists, including those that we did not make. A free read: it may
 * be repeated, and may list clawbacks of other charges too.
 */
export type ListClawbacks = (query: ClawbackQuery) => Effect.Effect<ListedClawbacks>

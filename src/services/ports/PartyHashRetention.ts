import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"

/** Retention of the keyed hashes of payers' and recipients' numbers, which identify a number for a time (contract PRIV-1). */
export class PartyHashRetention extends Context.Service<
  PartyHashRetention,
  {
    /**
     * Deletes up to `limit` hashes of each kind that are older than `before`, also those of open transactions, and returns the
     * number deleted. Only the hashes of codes are kept while their charge is open: they show whether a code was sent.
     */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/PartyHashRetention") {}

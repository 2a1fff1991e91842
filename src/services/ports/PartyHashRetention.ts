import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"

/** Retention of the keyed HMACs of payers' and recipients' numbers: they recognise a number for a while and are then deleted (contract PRIV-1). */
export class PartyHashRetention extends Context.Service<
  PartyHashRetention,
  {
    /**
     * Drops up to `limit` of each kind that are older than `before`, wherever they stand, of open transactions, too; answers how many.
     * Only the hashes of codes stay while their charge is open: they say whether one was sent.
     */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/PartyHashRetention") {}

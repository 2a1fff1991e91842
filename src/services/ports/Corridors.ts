import { Context, type Effect, type Option } from "effect"
import type { Corridor, CorridorKey } from "../../domain/Corridor.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditEntry } from "./AuditLog.ts"

/**
 * The corridors: which are open, for which amounts, and which providers serve them in which order. A change needs no deployment
 * and reaches every node within a second. The last `put` of a row wins; its audit entry is in the same commit.
 */
export class Corridors extends Context.Service<
  Corridors,
  {
    /** Every row, active or not, ordered by country, currency, direction, method. */
    readonly list: Effect.Effect<ReadonlyArray<Corridor>>
    readonly find: (key: CorridorKey) => Effect.Effect<Option.Option<Corridor>>
    /**
     * Adds or replaces the row with that key. `seen` is the time of the row's last change that the caller has read, or null
     * when there was no row: when the row has changed since, this returns false and writes nothing.
     */
    readonly put: (corridor: Corridor, audit: AuditEntry, seen?: Instant | null) => Effect.Effect<boolean>
  }
>()("gateway/services/ports/Corridors") {}

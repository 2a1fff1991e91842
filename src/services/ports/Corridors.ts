import { Context, type Effect, type Option } from "effect"
import type { Corridor, CorridorKey } from "../../domain/Corridor.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditEntry } from "./AuditLog.ts"

/**
 * The corridor switch: rows that say which corridors are open, within which amounts, and which providers serve them in which order. They
 * change without a deploy, and every node sees a change within a second. The last `put` of a row wins; its audit entry is in the same commit.
 */
export class Corridors extends Context.Service<
  Corridors,
  {
    /** Every row, active or not, ordered by country, currency, direction, method. */
    readonly list: Effect.Effect<ReadonlyArray<Corridor>>
    readonly find: (key: CorridorKey) => Effect.Effect<Option.Option<Corridor>>
    /**
     * Replaces the row with that key, or adds it. With `seen`, the time of the last change of the row that was looked at, null where there was none: false,
     * and nothing is written, where it has been changed or added since.
     */
    readonly put: (corridor: Corridor, audit: AuditEntry, seen?: Instant | null) => Effect.Effect<boolean>
  }
>()("gateway/services/ports/Corridors") {}

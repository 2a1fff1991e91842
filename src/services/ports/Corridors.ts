import { Context, type Effect, type Option } from "effect"
import type { Corridor, CorridorKey } from "../../domain/Corridor.ts"
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
    /** Replaces the row with that key, or adds it. */
    readonly put: (corridor: Corridor, audit: AuditEntry) => Effect.Effect<void>
  }
>()("gateway/services/ports/Corridors") {}

import { Context, type Effect, type Option } from "effect"
import type { Corridor, CorridorKey } from "../../domain/Corridor.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** Corridor rows: configuration that changes without a deploy and is seen by every node within a second. */
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

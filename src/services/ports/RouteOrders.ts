import { Context, type Effect } from "effect"
import type { Direction } from "../../domain/Corridor.ts"
import type { Mode } from "../../domain/Ids.ts"
import type { RouteOrder } from "../../domain/RoutePreference.ts"

/** The payments that one order is for. */
export interface RouteKey {
  readonly mode: Mode
  readonly direction: Direction
  /** As "UG/UGX/momo". */
  readonly corridor: string
  readonly network: string
}

/** The orders of providers by their success, which all nodes share: a price that one node shows holds at every other one. */
export class RouteOrders extends Context.Service<
  RouteOrders,
  {
    readonly all: Effect.Effect<ReadonlyArray<RouteKey & RouteOrder>>
    /** Puts an order in the place of the one that it was made from, null for none; nothing where another node was first. */
    readonly change: (key: RouteKey, order: RouteOrder, before: RouteOrder | null) => Effect.Effect<void>
    /** Forgets those of a corridor, of all networks and both modes; nothing where there are none. */
    readonly forget: (corridor: Pick<RouteKey, "direction" | "corridor">) => Effect.Effect<void>
  }
>()("gateway/services/ports/RouteOrders") {}

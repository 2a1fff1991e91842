import { Context, type Effect } from "effect"
import type { Direction } from "../../domain/Corridor.ts"
import type { Mode } from "../../domain/Ids.ts"
import type { RouteOrder } from "../../domain/RoutePreference.ts"

/** Which payments an order of providers is for. */
export interface RouteKey {
  readonly mode: Mode
  readonly direction: Direction
  /** As "UG/UGX/momo". */
  readonly corridor: string
  readonly network: string
}

/** The orders of providers by success rate. All nodes share them, so that a price from one node is valid at every other. */
export class RouteOrders extends Context.Service<
  RouteOrders,
  {
    readonly all: Effect.Effect<ReadonlyArray<RouteKey & RouteOrder>>
    /** Replaces the order that it was derived from (null: none). Does nothing when another node was first. */
    readonly change: (key: RouteKey, order: RouteOrder, before: RouteOrder | null) => Effect.Effect<void>
    /** Deletes a corridor's orders, for all networks and both modes. */
    readonly forget: (corridor: Pick<RouteKey, "direction" | "corridor">) => Effect.Effect<void>
  }
>()("gateway/services/ports/RouteOrders") {}

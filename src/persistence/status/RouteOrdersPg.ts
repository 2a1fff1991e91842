import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Direction } from "../../domain/Corridor.ts"
import { Mode } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import type { RouteOrder } from "../../domain/RoutePreference.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { type RouteKey, RouteOrders } from "../../services/ports/RouteOrders.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"

const Names = Schema.Array(Schema.String)

const orders = rowsOf(
  Schema.Struct({
    mode: Mode,
    direction: Direction,
    corridor: Schema.String,
    network: Schema.String,
    configured: Names,
    providers: Names,
    previous: Names,
    changedAt: Moment
  })
)

/** RouteOrders on PostgreSQL. It owns route_orders, a row per corridor and network, changed only if it is as it was read. */
export const RouteOrdersPg = layerOf(RouteOrders)(function* () {
  const sql = yield* SqlClient.SqlClient

  const all = orders(sql`
    SELECT mode, direction, corridor, network, configured, providers, previous, changed_at AS "changedAt" FROM route_orders
    ORDER BY mode, direction, corridor, network`).pipe(Effect.withSpan("RouteOrders.all"))

  const change = Effect.fn("RouteOrders.change")(function* (
    { corridor, direction, mode, network }: RouteKey,
    { changedAt, configured, previous, providers }: RouteOrder,
    before: RouteOrder | null
  ) {
    const replaced = before === null ? null : iso(before.changedAt)
    yield* sql`
      INSERT INTO route_orders (mode, direction, corridor, network, configured, providers, previous, changed_at)
      VALUES (${mode}, ${direction}, ${corridor}, ${network}, ${configured}::text[], ${providers}::text[], ${previous}::text[], ${iso(changedAt)}::timestamptz)
      ON CONFLICT (mode, direction, corridor, network) DO UPDATE
        SET configured = EXCLUDED.configured, providers = EXCLUDED.providers, previous = EXCLUDED.previous, changed_at = EXCLUDED.changed_at
        WHERE route_orders.changed_at = ${replaced}::timestamptz`
  }, Effect.orDie)

  const forget = Effect.fn("RouteOrders.forget")(function* ({ corridor, direction }: Pick<RouteKey, "direction" | "corridor">) {
    yield* sql`DELETE FROM route_orders WHERE direction = ${direction} AND corridor = ${corridor}`
  }, Effect.orDie)

  return { all, change, forget }
})

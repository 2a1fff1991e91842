import { Effect, Exit, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Currency } from "../../domain/Currency.ts"
import { encodeEvent } from "../../domain/Event.ts"
import { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { nearestAmount } from "../../domain/Money.ts"
import { lowFloatView } from "../../domain/View.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { TenantChange } from "../../services/ports/AuditLog.ts"
import { FloatAlerts } from "../../services/ports/FloatAlerts.ts"
import type { FloatName } from "../../services/ports/FloatEntries.ts"
import { RandomSource } from "../../services/ports/RandomSource.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { rowsOf } from "../connection/Rows.ts"
import { tellNewer } from "../transactions/NewerEventTypes.ts"

/** How many floats that fell or rose are handled in one round; the next round finds the rest. */
const FLOATS_A_ROUND = 1_000

const Amounts = { below: Schema.BigInt, available: Schema.BigInt }
const alerts = rowsOf(Schema.Struct({ currency: Currency, ...Amounts }))
const floats = rowsOf(Schema.Struct({ appId: AppId, mode: Mode, currency: Currency }))
const moved = rowsOf(Schema.Struct({ isLow: Schema.Boolean, reserved: Schema.BigInt, ...Amounts }))

/** FloatAlerts on PostgreSQL: two columns of `float_positions`, which no step of a payment writes. */
export const FloatAlertsPg = layerOf(FloatAlerts)(function* () {
  const sql = yield* SqlClient.SqlClient
  const everyTenant = yield* EveryTenant
  const randomSource = yield* RandomSource
  const trail = auditTrail(sql, (yield* Vault).hash)
  const available = sql.literal("greatest(available_minor - receivable_minor, 0)")
  /** The float has crossed its threshold since the last check. */
  const hasCrossed = sql.literal(
    "alert_below_minor IS NOT NULL AND (greatest(available_minor - receivable_minor, 0) < alert_below_minor) <> alert_told"
  )

  const list = Effect.fn("FloatAlerts.list")((appId: AppId, mode: Mode) =>
    Effect.map(
      alerts(sql`SELECT currency, alert_below_minor AS below, ${available} AS available FROM float_positions
        WHERE app_id = ${appId} AND mode = ${mode} AND alert_below_minor IS NOT NULL ORDER BY currency`),
      (rows) => rows.map((row) => ({ ...row, below: nearestAmount(row.below), available: nearestAmount(row.available) }))
    )
  )

  const set = Effect.fn("FloatAlerts.set")(({ appId, currency, mode }: FloatName, below: bigint | null, change: TenantChange) =>
    Effect.asVoid(
      trail.with(
        below === null
          ? sql`UPDATE float_positions SET alert_below_minor = NULL, alert_told = false
                WHERE app_id = ${appId} AND mode = ${mode} AND currency = ${currency} AND alert_below_minor IS NOT NULL RETURNING 1`
          : sql`INSERT INTO float_positions AS p (app_id, mode, currency, alert_below_minor) VALUES (${appId}, ${mode}, ${currency}, ${below})
                ON CONFLICT (app_id, mode, currency) DO UPDATE SET alert_below_minor = EXCLUDED.alert_below_minor
                WHERE p.alert_below_minor IS DISTINCT FROM EXCLUDED.alert_below_minor RETURNING 1`,
        change
      )
    )
  )

  /** The position is locked until the event is written, so that only one node writes it. */
  const tellOne = Effect.fnUntraced(function* ({ appId, currency, mode }: FloatName, at: Instant) {
    const [row] = yield* moved(sql`UPDATE float_positions SET alert_told = NOT alert_told
      WHERE app_id = ${appId} AND mode = ${mode} AND currency = ${currency} AND ${hasCrossed}
      RETURNING alert_told AS "isLow", alert_below_minor AS below, ${available} AS available, reserved_minor AS reserved`)
    if (row?.isLow !== true) return 0
    const head = { id: yield* randomSource.reference, appId, mode, type: "float.low", reference: null, at } as const
    yield* tellNewer(sql, encodeEvent(head, lowFloatView({ ...row, currency, mode, at })))
    return 1
  }, sql.withTransaction)

  const tell = Effect.fn("FloatAlerts.tell")(function* (at: Instant) {
    const { rows } = yield* everyTenant.read((of) =>
      floats(
        sql`SELECT app_id AS "appId", mode, currency FROM float_positions WHERE ${hasCrossed} ${of("app_id")} LIMIT ${FLOATS_A_ROUND}`
      )
    )
    // A float whose event cannot be written does not block the others.
    const exits = yield* Effect.forEach(rows, (float) => Effect.exit(tellOne(float, at)))
    const failed = exits.find(Exit.isFailure)
    if (failed !== undefined) return yield* failed
    return exits.filter(Exit.isSuccess).reduce((sum, { value }) => sum + value, 0)
  }, Effect.orDie)

  return { list, set, tell }
})

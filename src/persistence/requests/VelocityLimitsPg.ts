import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AmountCap } from "../../domain/AmountCaps.ts"
import { type AppId, Mode } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { MinorUnits } from "../../domain/Money.ts"
import { LimitDirection, LimitWindow, type UsedWindow, type VelocityLimit, type WindowUse } from "../../domain/VelocityLimits.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { VelocityLimits } from "../../services/ports/VelocityLimits.ts"
import { type AuditTrail, auditTrail } from "../audit/AuditTrail.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { Distribution } from "../connection/Distribution.ts"
import { rowsOf } from "../connection/Rows.ts"
import { makeVersionedRowCache, type RowCache } from "../reads/RowCache.ts"
import { recordPrunedBefore } from "../vault/Retention.ts"

const KEPT_AT_MOST = 10_000

const limits = rowsOf(
  Schema.Struct({
    app_id: Schema.String,
    mode: Mode,
    direction: LimitDirection,
    window: LimitWindow,
    count: Schema.NumberFromString
  })
)
const caps = rowsOf(Schema.Struct({ ...AmountCap.fields, app_id: Schema.String }))
const usedRows = rowsOf(Schema.Struct({ used: Schema.BigInt }))
const ceilingWindows = rowsOf(Schema.Struct({ mode: Mode, name: Schema.String, startsAt: Schema.String, amount: Schema.BigInt }))
const ceilings = rowsOf(Schema.Struct({ name: Schema.String, amount: MinorUnits }))

/**
 * VelocityLimits on PostgreSQL. It owns counters; `change_access` writes limits, caps and ceilings. The money steps create the
 * rows of windows and count in them, under their locks. Pruning skips locked rows.
 */
export const VelocityLimitsPg = layerOf(VelocityLimits)(function* () {
  const sql = yield* SqlClient.SqlClient

  const distribution = yield* Distribution
  const everyTenant = yield* EveryTenant
  const unchanged = yield* makeVersionedRowCache(sql)
  const trail = auditTrail(sql, (yield* Vault).hash)

  const readOwn = (appIds: ReadonlyArray<string>) =>
    Effect.map(
      limits(sql`SELECT app_id, mode, direction, window_name AS window, count::text FROM limits WHERE app_id = ANY (${appIds})`),
      (rows) => {
        const byTenant = Map.groupBy(rows, ({ app_id }) => app_id)
        return appIds.map((appId): ReadonlyArray<VelocityLimit> => byTenant.get(appId) ?? [])
      }
    )
  const own = yield* unchanged.keep({ read: readOwn, tenantOf: (appId) => appId, atMost: KEPT_AT_MOST })

  const amountCaps = yield* makeAmountCaps(sql, trail, unchanged)

  const readCeilings = (names: ReadonlyArray<string>) =>
    Effect.map(ceilings(sql`SELECT provider || ' ' || currency AS name, amount_minor AS amount FROM ceilings`), (rows) =>
      names.map((name) => Option.fromUndefinedOr(rows.find((row) => row.name === name)?.amount))
    )
  const ceilingOf = yield* unchanged.keep({ read: readCeilings, atMost: KEPT_AT_MOST })

  return {
    own: (appId) => own.get(appId),
    ...amountCaps,
    used: usedOf(sql),
    ceiling: (provider, currency) => ceilingOf.get(`${provider} ${currency}`),

    set: Effect.fn("VelocityLimits.set")((appId, limit, audit) => {
      const { count, direction, mode, window } = limit
      return trail.change(
        { change: "limit set", to: { app_id: appId, mode, direction, window_name: window, count: String(count) } },
        audit
      )
    }),

    setCeiling: Effect.fn("VelocityLimits.setCeiling")((provider, currency, amount, audit) =>
      Effect.asVoid(trail.change({ change: "ceiling set", to: { provider, currency, amount_minor: amount.toString() } }, audit))
    ),

    // Locks the transaction's row first, then the window, as for a payout that fails (`apply_step`).
    giveBackCeiling: Effect.fn("VelocityLimits.giveBackCeiling")(
      function* (appId, reference) {
        const counted =
          yield* ceilingWindows(sql`SELECT coalesce(c.mode, t.mode) AS mode, c.name, c.starts_at::text AS "startsAt", c.amount
        FROM (SELECT mode, counted FROM transactions WHERE reference = ${reference} AND app_id = ${appId} AND status = 'pending' FOR UPDATE) t
        CROSS JOIN LATERAL json_to_recordset(t.counted) AS c(mode text, name text, starts_at timestamptz, amount bigint)
        WHERE c.name LIKE 'ceiling:%'`)
        if (counted.length === 0) return
        yield* sql`UPDATE transactions t SET counted = (SELECT coalesce(json_agg(c.one ORDER BY c.at), '[]'::json)
          FROM json_array_elements(t.counted) WITH ORDINALITY AS c(one, at) WHERE c.one->>'name' NOT LIKE 'ceiling:%')
        WHERE reference = ${reference} AND app_id = ${appId}`
        for (const { amount, mode, name, startsAt } of counted)
          yield* sql`UPDATE counters SET used = greatest(used - ${amount}::bigint, 0)
          WHERE app_id = '' AND mode = ${mode} AND name = ${name} AND subject = '' AND starts_at = ${startsAt}::timestamptz`
      },
      sql.withTransaction,
      Effect.orDie
    ),

    // A late give-back may have locked some of them, in key order: those are left for the next round, and nothing waits.
    prune: Effect.fn("VelocityLimits.prune")(function* (before, limit) {
      const record = recordPrunedBefore(sql, distribution, "windows", before)
      yield* record.first
      const { rows } = yield* everyTenant.sweep(
        (of) => sql`WITH ${record.together}
      old AS MATERIALIZED (
        SELECT app_id, mode, name, subject, starts_at FROM counters WHERE starts_at < ${iso(before)}::timestamptz ${of("app_id")}
        ORDER BY starts_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )
      DELETE FROM counters c USING old WHERE c.app_id = old.app_id AND c.mode = old.mode AND c.name = old.name
        AND c.subject = old.subject AND c.starts_at = old.starts_at ${of("c.app_id")} RETURNING 1 AS swept`
      )
      return rows.length
    }, Effect.orDie)
  }
})

/** Amount caps, which `change_access` writes. */
const makeAmountCaps = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, trail: AuditTrail, unchanged: RowCache) {
  const read = (appIds: ReadonlyArray<string>) =>
    Effect.map(
      caps(sql`SELECT app_id, mode, direction, window_name AS window, currency, amount_minor AS amount FROM amount_caps
        WHERE app_id = ANY (${appIds})`),
      (rows) => {
        const byTenant = Map.groupBy(rows, ({ app_id }) => app_id)
        return appIds.map((appId): ReadonlyArray<AmountCap> => byTenant.get(appId) ?? [])
      }
    )
  const own = yield* unchanged.keep({ read, tenantOf: (appId) => appId, atMost: KEPT_AT_MOST })

  const setCap = Effect.fn("VelocityLimits.setCap")((appId: AppId, { amount, ...cap }: AmountCap, audit: AuditEntry) =>
    trail.change({ change: "cap set", to: { ...capColumns(appId, cap), amount_minor: amount.toString() } }, audit)
  )
  const removeCap = Effect.fn("VelocityLimits.removeCap")((appId: AppId, cap: Omit<AmountCap, "amount">, audit: AuditEntry) =>
    trail.change({ change: "cap remove", to: capColumns(appId, cap) }, audit)
  )
  return { caps: (appId: AppId) => own.get(appId), setCap, removeCap }
})

const usedOf = (sql: SqlClient.SqlClient) =>
  Effect.fn("VelocityLimits.used")(
    (windows: ReadonlyArray<WindowUse>) =>
      Effect.forEach(windows, (window) =>
        Effect.map(
          usedRows(sql`SELECT used FROM counters WHERE app_id = ${window.appId} AND mode = ${window.mode} AND name = ${window.name}
            AND subject = ${window.subject} AND starts_at = ${iso(window.startsAt)}::timestamptz`),
          ([row]): UsedWindow => ({ ...window, used: row?.used ?? 0n })
        )
      ),
    Effect.orDie
  )

const capColumns = (appId: AppId, { currency, direction, mode, window }: Omit<AmountCap, "amount">) => ({
  app_id: appId,
  mode,
  direction,
  window_name: window,
  currency
})

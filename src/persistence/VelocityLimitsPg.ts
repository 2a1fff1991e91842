import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Currency } from "../domain/Currency.ts"
import { type AppId, Mode } from "../domain/Ids.ts"
import { iso } from "../domain/Instant.ts"
import { type MinorUnits as Amount, MinorUnits } from "../domain/Money.ts"
import { LimitDirection, LimitWindow, type VelocityLimit, type WindowUse } from "../domain/VelocityLimits.ts"
import type { AuditEntry } from "../services/ports/AuditLog.ts"
import { Vault } from "../services/ports/Vault.ts"
import { VelocityLimits } from "../services/ports/VelocityLimits.ts"
import { auditTrail } from "./AuditTrail.ts"
import { recordPrunedBefore } from "./Retention.ts"
import { makeRowCache } from "./RowCache.ts"
import { rowsOf } from "./Rows.ts"
import { isLockTimeout, makeBatcher } from "./StepBatch.ts"

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
const ceilings = rowsOf(Schema.Struct({ name: Schema.String, amount: MinorUnits }))
const decodeUsed = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ used: Schema.BigInt })))

const columns = ({ appId, mode, name, startsAt, subject }: WindowUse) => ({
  app_id: appId,
  mode,
  name,
  subject,
  starts_at: iso(startsAt)
})

/**
 * A window that was missing is unused. Each is found by its key, whatever the planner thinks of the table: with "=" for its beginning, a plan for a
 * table that was never analysed reads every window of the hour.
 */
const prepareStatement = `
WITH wanted AS MATERIALIZED (
  SELECT w.*, (
    SELECT c.used FROM counters c WHERE c.app_id = w.app_id AND c.mode = w.mode AND c.name = w.name AND c.subject = w.subject
      AND c.starts_at BETWEEN w.starts_at AND w.starts_at
  ) AS used
  FROM ROWS FROM (json_to_recordset($1::json) AS (app_id text, mode text, name text, subject text, starts_at timestamptz))
    WITH ORDINALITY AS w(app_id, mode, name, subject, starts_at, ord)
),
made AS (
  INSERT INTO counters (app_id, mode, name, subject, starts_at)
  SELECT app_id, mode, name, subject, starts_at FROM wanted WHERE used IS NULL
  ORDER BY app_id, mode, name, subject, starts_at ON CONFLICT DO NOTHING
)
SELECT coalesce(used, 0) AS used FROM wanted ORDER BY ord`

/**
 * VelocityLimits on PostgreSQL. It owns limits, ceilings and counters. The money steps make the rows of
 * windows, too, and count in them under their locks. Sweeping skips rows that are locked.
 */
export const VelocityLimitsPg = Layer.effect(
  VelocityLimits,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const unchanged = yield* makeRowCache(sql)
    const trail = auditTrail(sql, (yield* Vault).hash)

    const readOwn = (appIds: ReadonlyArray<string>) =>
      Effect.map(
        limits(
          sql`SELECT app_id, mode, direction, window_name AS window, count::text FROM limits WHERE app_id = ANY (${appIds})`
        ),
        (rows) => {
          const byTenant = Map.groupBy(rows, ({ app_id }) => app_id)
          return appIds.map((appId): ReadonlyArray<VelocityLimit> => byTenant.get(appId) ?? [])
        }
      )
    const own = yield* unchanged.keep({ read: readOwn, atMost: KEPT_AT_MOST })

    const readCeilings = (names: ReadonlyArray<string>) =>
      Effect.map(ceilings(sql`SELECT provider || ' ' || currency AS name, amount_minor AS amount FROM ceilings`), (rows) =>
        names.map((name) => Option.fromUndefinedOr(rows.find((row) => row.name === name)?.amount))
      )
    const ceilingOf = yield* unchanged.keep({ read: readCeilings, atMost: KEPT_AT_MOST })

    const prepareCounters = yield* makeBatcher({
      statement: (questions: ReadonlyArray<ReadonlyArray<WindowUse>>) =>
        sql.unsafe(prepareStatement, [JSON.stringify(questions.flat().map(columns))]).pipe(
          Effect.flatMap(decodeUsed),
          Effect.map((rows) => {
            let next = 0
            return questions.map((counters) => {
              const first = next
              next += counters.length
              return rows.slice(first, next).map(({ used }) => used)
            })
          })
        ),
      // A window that is there already is as good as one that was made.
      recover: (_counters, used) => Effect.succeed(used),
      laneOf: ([counter]) => counter?.appId ?? "",
      isLockTimeout
    })
    const prepare = (counters: ReadonlyArray<WindowUse>): Effect.Effect<ReadonlyArray<bigint>> =>
      counters.length === 0 ? Effect.succeed([]) : prepareCounters(counters)

    const set = Effect.fn("VelocityLimits.set")(
      function* (appId: AppId, { count, direction, mode, window }: VelocityLimit, audit: AuditEntry) {
        const tenants = yield* sql`SELECT 1 FROM tenants WHERE app_id = ${appId} FOR SHARE`
        if (tenants.length === 0) return false
        yield* sql`INSERT INTO limits (app_id, mode, direction, window_name, count) VALUES (${appId}, ${mode}, ${direction}, ${window}, ${BigInt(count)})
          ON CONFLICT (app_id, mode, direction, window_name) DO UPDATE SET count = EXCLUDED.count`
        yield* trail.writeKept(audit)
        return true
      },
      (effect) => sql.withTransaction(effect),
      Effect.orDie
    )

    const setCeiling = Effect.fn("VelocityLimits.setCeiling")(
      function* (provider: string, currency: Currency, amount: Amount, audit: AuditEntry) {
        yield* sql`INSERT INTO ceilings (provider, currency, amount_minor) VALUES (${provider}, ${currency}, ${amount})
          ON CONFLICT (provider, currency) DO UPDATE SET amount_minor = EXCLUDED.amount_minor`
        yield* trail.writeKept(audit)
      },
      (effect) => sql.withTransaction(effect),
      Effect.orDie
    )

    // A late give-back may hold some of them, locked in the order of their keys: they are left for the next round, and nothing waits.
    const prune = Effect.fn("VelocityLimits.prune")(function* (before: number, limit: number) {
      const rows = yield* sql`WITH since AS (${recordPrunedBefore(sql, "windows", before)}),
        old AS MATERIALIZED (
          SELECT app_id, mode, name, subject, starts_at FROM counters WHERE starts_at < ${iso(before)}::timestamptz
          ORDER BY starts_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
        )
        DELETE FROM counters c USING old WHERE c.app_id = old.app_id AND c.mode = old.mode AND c.name = old.name
          AND c.subject = old.subject AND c.starts_at = old.starts_at RETURNING 1 AS swept`
      return rows.length
    }, Effect.orDie)

    return VelocityLimits.of({
      own: (appId) => own.get(appId),
      ceiling: (provider, currency) => ceilingOf.get(`${provider} ${currency}`),
      prepare,
      set,
      setCeiling,
      prune
    })
  })
)

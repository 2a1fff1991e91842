import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import type { Applied, ApplyStep, Opened, OpenStep } from "../../services/ports/FloatLedger.ts"
import { storable } from "./StepColumns.ts"

// A money step whose statement was committed, and whose answer never came, is refused when it runs again. These tell such a step from one that
// somebody else was faster than.

/** A claim that was lost to nobody but this very step. */
export const openedBefore = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* ({ claim, transaction }: OpenStep, result: Opened) {
    if (result._tag !== "ClaimLost") return result
    const { appId, endpoint, key, mode } = claim.scope
    const rows = yield* sql`SELECT 1 FROM idempotency_keys
      WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key} AND fence = ${claim.fence}
        AND reference = ${transaction.reference}`
    return rows.length === 1 ? ({ _tag: "Opened" } satisfies Opened) : result
  })

/** A row that moved on by nothing but this very step: its line stands in the history. */
export const appliedBefore = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* ({ line, next: { appId, reference } }: ApplyStep, result: Applied) {
    if (result._tag !== "Stale") return result
    const rows = yield* sql`SELECT 1 FROM transaction_history
      WHERE app_id = ${appId} AND reference = ${reference} AND at = ${iso(line.at)}::timestamptz AND actor = ${line.actor}
        AND fact = ${line.fact} AND note = ${storable(line.note)} AND status = ${line.status} LIMIT 1`
    return rows.length === 1 ? ({ _tag: "Applied" } satisfies Applied) : result
  })

import { Array as Arr, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { Distribution } from "../connection/Distribution.ts"
import { rowsOf } from "../connection/Rows.ts"
import {
  type AttemptStep,
  attemptNotes,
  attemptParameters,
  noteAttemptsSql,
  recordAttemptSql,
  settleAttemptsSql
} from "./RecordAttemptSql.ts"

const settledRows = rowsOf(Schema.Struct({ settled: Schema.Array(Schema.Number), isMoved: Schema.Boolean }))

/** Writes attempts of which no two are of one delivery, in one commit; on Citus a commit a tenant, whose rows are on one server. */
export const attemptWriter = (sql: SqlClient.SqlClient, { isDistributed }: Distribution["Service"]) => {
  const ofOneTenant = Effect.fnUntraced(function* (appId: string, steps: ReadonlyArray<AttemptStep>) {
    const [row] = yield* settledRows(sql.unsafe(settleAttemptsSql, [...attemptParameters(steps), appId]))
    // Somebody asked for one of them again between the statement's moment and its lock: it is written anew.
    if (row === undefined || row.isMoved) return yield* Effect.die(new Error("a delivery was due at another moment"))
    if (row.settled.length > 0) yield* sql.unsafe(noteAttemptsSql, [appId, ...attemptNotes(steps, row.settled)])
  })

  return (steps: ReadonlyArray<AttemptStep>) =>
    isDistributed
      ? Effect.forEach(
          Object.entries(Arr.groupBy(steps, ({ attempt }) => attempt.delivery.endpoint.appId)),
          ([appId, own]) => sql.withTransaction(ofOneTenant(appId, own)),
          { discard: true }
        )
      : sql.unsafe(recordAttemptSql, attemptParameters(steps))
}

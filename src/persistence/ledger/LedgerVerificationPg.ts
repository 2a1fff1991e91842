import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type LedgerDifference, type LedgerReport, LedgerVerification } from "../../services/ports/LedgerVerification.ts"
import { AnswerBoundMs } from "../connection/BoundedClient.ts"
import { rowsOf } from "../connection/Rows.ts"
import { auditSettings, breachesStatement, type LedgerRule } from "./LedgerRule.ts"
import { adjustmentRules } from "./rules/AdjustmentRules.ts"
import { digestRules } from "./rules/DigestRules.ts"
import { accountRules, entryRules } from "./rules/EntryRules.ts"
import { eventRules } from "./rules/EventRules.ts"
import { positionRules } from "./rules/PositionRules.ts"
import { exchangeRules, historyRules, recordRules } from "./rules/RecordRules.ts"
import { keptRules, requestRules, windowRules } from "./rules/RequestRules.ts"

/** Of each rule; a ledger that is broken everywhere need not be printed whole. */
const MAX_DIFFERENCES = 1000
/** Reading everything takes longer than a request may. */
const TIMEOUT_MS = 3_600_000
/** A statement that PostgreSQL has not ended by itself by then has hung. */
const ANSWER_MS = TIMEOUT_MS + 3_000

const counts = rowsOf(Schema.Struct({ count: Schema.BigInt }))
const decodeBreaches = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ subject: Schema.String, found: Schema.String })))

/** A value that no rule can read, as an amount that is no number: PostgreSQL says which, and not in which row. */
const unreadableRow = ({ reason: { cause } }: SqlError.SqlError) =>
  cause instanceof Error && "code" in cause && String(cause.code).startsWith("22")
    ? Option.some([{ subject: "", found: `a row that cannot be read: ${cause.message}` }])
    : Option.none()

/**
 * LedgerVerification on PostgreSQL. It owns no table and writes nothing: every rule reads one snapshot (repeatable read), in which a gateway that goes on
 * working changes nothing.
 */
export const LedgerVerificationPg = Layer.effect(
  LedgerVerification,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const audit = Effect.fnUntraced(function* (one: LedgerRule) {
      const { rule } = one
      const [row] = yield* counts(sql.unsafe(one.counted))
      // In a savepoint, so that the other rules still run.
      const found = yield* sql.withTransaction(sql.unsafe(breachesStatement(one, MAX_DIFFERENCES))).pipe(
        Effect.flatMap(decodeBreaches),
        Effect.catchTag("SqlError", (error) =>
          Option.match(unreadableRow(error), { onNone: () => Effect.fail(error), onSome: Effect.succeed })
        )
      )
      const differences = found.map((breach): LedgerDifference => ({ rule, ...breach }))
      return { rule, count: Number(row?.count ?? 0n), differences }
    })

    const verify = Effect.gen(function* () {
      yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
      // Before the snapshot: a month of events that is emptied is gone for older snapshots too. It waits.
      yield* sql`LOCK TABLE events IN ACCESS SHARE MODE`
      for (const [name, value] of Object.entries({ ...auditSettings, statement_timeout: `${TIMEOUT_MS}ms` }))
        yield* sql`SELECT set_config(${name}, ${value}, true)`
      const audits = yield* Effect.forEach(ledgerRules, audit)
      const differences = audits.flatMap((each) => each.differences)
      const checked = Object.fromEntries(audits.map(({ count, rule }) => [rule, count]))
      return { ok: differences.length === 0, checked, differences } satisfies LedgerReport
    }).pipe(
      (effect) => sql.withTransaction(effect),
      Effect.provideService(AnswerBoundMs, ANSWER_MS),
      Effect.orDie,
      Effect.withSpan("LedgerVerification.verify")
    )

    return LedgerVerification.of({ verify })
  })
)

/** Every rule, in the order in which they are reported. */
export const ledgerRules: ReadonlyArray<LedgerRule> = [
  ...positionRules,
  ...entryRules,
  ...accountRules,
  ...adjustmentRules,
  ...exchangeRules,
  ...windowRules,
  ...recordRules,
  ...historyRules,
  ...digestRules,
  ...keptRules,
  ...requestRules,
  ...eventRules
]

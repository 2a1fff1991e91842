import { createHash } from "node:crypto"
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { json } from "../../domain/Json.ts"
import {
  type LedgerDifference,
  type LedgerReport,
  LedgerVerification,
  type VerificationBounds,
  type VerificationProgress
} from "../../services/ports/LedgerVerification.ts"
import { AnswerBoundMs } from "../connection/BoundedClient.ts"
import { rowsOf } from "../connection/Rows.ts"
import { auditSettings, breachesStatement, type LedgerRule } from "./LedgerRule.ts"
import { isOfOneRecord, ledgerSlices, type Slice, slicedBreaches, slicedCounts } from "./LedgerSlices.ts"
import { adjustmentRules } from "./rules/AdjustmentRules.ts"
import { digestRules } from "./rules/DigestRules.ts"
import { accountRules, entryRules } from "./rules/EntryRules.ts"
import { eventRules } from "./rules/EventRules.ts"
import { positionRules } from "./rules/PositionRules.ts"
import { exchangeRules, historyRules, recordRules } from "./rules/RecordRules.ts"
import { keptRules, requestRules, windowRules } from "./rules/RequestRules.ts"

/** Of each rule; a ledger that is broken everywhere need not be printed whole. */
const MAX_DIFFERENCES = 1000
/** So many references are checked at a time, which takes a second or two. */
export const SliceSize = Context.Reference<number>("gateway/persistence/SliceSize", { defaultValue: () => 2_000 })
/** A statement of a slice that takes so long has met something that is broken. */
const SLICE_TIMEOUT_MS = 3_600_000
/** A rule that reads everything may take as long as it needs; after a day its connection is taken for a dead one. */
const WHOLE_TIMEOUT_MS = 86_400_000
/** A statement that PostgreSQL has not ended by itself so much later has hung. */
const ANSWER_MS = 3_000

/** Keys are found by walking indexes in their order, and not by sorting all of them. */
const keySettings = { enable_hashagg: "off", enable_sort: "off", statement_timeout: `${SLICE_TIMEOUT_MS}ms` }
const sliceSettings = { ...auditSettings, enable_hashagg: "on", enable_sort: "on" }
const wholeSettings = { ...auditSettings, statement_timeout: `${WHOLE_TIMEOUT_MS}ms` }

/** The next step of a verification: a rule that needs everything, the tenant's records behind one, or the records without a line behind one. */
const Place = Schema.Union([
  Schema.TaggedStruct("Rule", { at: Schema.Number }),
  Schema.TaggedStruct("Records", { appId: Schema.NullOr(Schema.String), reference: Schema.NullOr(Schema.String) }),
  Schema.TaggedStruct("Unwritten", { reference: Schema.NullOr(Schema.String) })
])
type Place = typeof Place.Type

/** A verification on its way. `program` is of its rules: another program's is not gone on with. */
const Run = Schema.Struct({
  program: Schema.String,
  startedAt: Schema.Number,
  records: Schema.Number,
  seen: Schema.Number,
  place: Schema.NullOr(Place),
  checked: Schema.Record(Schema.String, Schema.Number),
  differences: Schema.Array(Schema.Struct({ rule: Schema.String, subject: Schema.String, found: Schema.String }))
})
type Run = typeof Run.Type

const counts = rowsOf(Schema.Struct({ count: Schema.BigInt }))
const kept = rowsOf(Schema.Struct({ progress: Schema.Unknown }))
const decodeBreaches = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ subject: Schema.String, found: Schema.String })))

/** A value that no rule can read, as an amount that is no number: PostgreSQL says which, and not in which row. */
const unreadableRow = ({ reason: { cause } }: SqlError.SqlError) =>
  cause instanceof Error && "code" in cause && String(cause.code).startsWith("22")
    ? Option.some([{ subject: "", found: `a row that cannot be read: ${cause.message}` }])
    : Option.none()

/**
 * LedgerVerification on PostgreSQL. It owns the table verification_progress. Every step reads one snapshot (repeatable read), in which a gateway
 * that goes on working changes nothing: a rule never compares what was read at two times.
 */
export const LedgerVerificationPg = Layer.effect(
  LedgerVerification,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { referencesAfter, tenantAfter, unwrittenAfter } = ledgerSlices(sql)

    const set = (settings: Readonly<Record<string, string>>) =>
      sql`SELECT set_config(s.name, s.value, true)
        FROM unnest(${Object.keys(settings)}::text[], ${Object.values(settings)}::text[]) AS s(name, value)`
    const snapshot = sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`

    /** The rows that break the rule, found in a savepoint, so that the other rules still run. */
    const breaches = ({ rule }: LedgerRule, statement: string, values: ReadonlyArray<unknown>) =>
      sql.withTransaction(sql.unsafe(statement, values)).pipe(
        Effect.flatMap(decodeBreaches),
        Effect.catchTag("SqlError", (error) =>
          Option.match(unreadableRow(error), { onNone: () => Effect.fail(error), onSome: Effect.succeed })
        ),
        Effect.map((found) => found.map((breach): LedgerDifference => ({ rule, ...breach })))
      )

    const checkWhole = Effect.fnUntraced(
      function* (run: Run, one: LedgerRule, place: Place) {
        yield* snapshot
        // Before the snapshot: a month of events that is emptied is gone for older snapshots too. It waits.
        yield* sql`LOCK TABLE events IN ACCESS SHARE MODE`
        yield* set(wholeSettings)
        const [row] = yield* counts(sql.unsafe(one.counted))
        const differences = yield* breaches(one, breachesStatement(one, MAX_DIFFERENCES), [])
        return { ...added(run, differences, [[one.rule, Number(row?.count ?? 0n)]]), place }
      },
      (step) => sql.withTransaction(step),
      Effect.provideService(AnswerBoundMs, WHOLE_TIMEOUT_MS + ANSWER_MS)
    )

    const checkSlice = Effect.fnUntraced(function* (run: Run, { appId, references }: Slice) {
      const values = [appId, references]
      const rows = yield* counts(sql.unsafe(slicedCounts(slicedRules), values))
      let found = added(
        { ...run, seen: run.seen + references.length },
        [],
        slicedRules.map(({ rule }, at) => [rule, Number(rows[at]?.count ?? 0n)] as const)
      )
      for (const one of slicedRules) {
        const room = MAX_DIFFERENCES - found.differences.filter(({ rule }) => rule === one.rule).length
        if (room > 0) found = added(found, yield* breaches(one, slicedBreaches(one, room), values), [])
      }
      return found
    })

    const checkRecords = Effect.fnUntraced(function* (run: Run, { appId, reference }: Extract<Place, { _tag: "Records" }>) {
      const references = appId === null ? [] : yield* referencesAfter(appId, reference, yield* SliceSize)
      if (appId === null || references.length === 0) {
        const next = yield* tenantAfter(appId)
        const place: Place =
          next === null ? { _tag: "Unwritten", reference: null } : { _tag: "Records", appId: next, reference: null }
        return { ...run, place }
      }
      yield* set(sliceSettings)
      const place: Place = { _tag: "Records", appId, reference: references.at(-1) ?? null }
      return { ...(yield* checkSlice(run, { appId, references })), place }
    })

    const checkUnwritten = Effect.fnUntraced(function* (run: Run, { reference }: Extract<Place, { _tag: "Unwritten" }>) {
      const { reached, slices } = yield* unwrittenAfter(reference, yield* SliceSize)
      yield* set(sliceSettings)
      const found = yield* Effect.reduce(slices, () => run, checkSlice)
      const place: Place | null = reached === null ? null : { _tag: "Unwritten", reference: reached }
      return { ...found, place }
    })

    const inSlice = <E>(slice: Effect.Effect<Run, E>) =>
      Effect.andThen(Effect.andThen(snapshot, set(keySettings)), slice).pipe(
        (effect) => sql.withTransaction(effect),
        Effect.provideService(AnswerBoundMs, SLICE_TIMEOUT_MS + ANSWER_MS)
      )

    const step = (run: Run, place: Place) => {
      if (place._tag === "Records") return inSlice(checkRecords(run, place))
      if (place._tag === "Unwritten") return inSlice(checkUnwritten(run, place))
      const one = wholeRules[place.at]
      return one === undefined
        ? Effect.succeed({ ...run, place: firstRecords })
        : checkWhole(run, one, { _tag: "Rule", at: place.at + 1 })
    }

    const begun = Effect.gen(function* () {
      const [row] = yield* counts(
        Effect.andThen(set({ statement_timeout: wholeSettings.statement_timeout }), sql`SELECT count(*) FROM transactions`).pipe(
          (effect) => sql.withTransaction(effect),
          Effect.provideService(AnswerBoundMs, WHOLE_TIMEOUT_MS + ANSWER_MS)
        )
      )
      const startedAt = yield* Clock.currentTimeMillis
      return { ...nothingYet, startedAt, records: Number(row?.count ?? 0n) } satisfies Run
    })

    const leftOff = Effect.gen(function* () {
      const [row] = yield* kept(sql`SELECT progress FROM verification_progress`)
      const run = row === undefined ? Option.none<Run>() : Schema.decodeUnknownOption(Run)(row.progress)
      return Option.filter(run, ({ program: made }) => made === program)
    })

    const keep = (run: Run) =>
      run.place === null
        ? sql`DELETE FROM verification_progress`
        : sql`INSERT INTO verification_progress (at, progress) VALUES (now(), ${json(run)}::json)
            ON CONFLICT (is_only) DO UPDATE SET at = EXCLUDED.at, progress = EXCLUDED.progress`

    const verify = Effect.gen(function* () {
      let run: Run = yield* begun
      while (run.place !== null) run = yield* step(run, run.place)
      return reportOf(run)
    }).pipe(Effect.orDie, Effect.withSpan("LedgerVerification.verify"))

    const verifyWithin = Effect.fn("LedgerVerification.verifyWithin")(function* ({ goesOn, onStep, until }: VerificationBounds) {
      const before = goesOn ? yield* leftOff : Option.none<Run>()
      let run: Run = Option.isSome(before) ? before.value : yield* begun
      while (run.place !== null) {
        run = yield* step(run, run.place)
        yield* keep(run)
        yield* onStep(progressOf(run))
        if (until !== null && (yield* Clock.currentTimeMillis) >= until) break
      }
      return { ...reportOf(run), ...progressOf(run) }
    }, Effect.orDie)

    return LedgerVerification.of({ verify, verifyWithin })
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

const wholeRules = ledgerRules.filter((one) => !isOfOneRecord(one))
const slicedRules = ledgerRules.filter(isOfOneRecord)

const firstRecords: Place = { _tag: "Records", appId: null, reference: null }
const program = createHash("sha256")
  .update(json(ledgerRules.map((one) => [isOfOneRecord(one), one.counted, one.broken])))
  .digest("hex")
const nothingYet = {
  program,
  seen: 0,
  place: { _tag: "Rule", at: 0 },
  checked: {},
  differences: []
} satisfies Partial<Run>

const added = (
  run: Run,
  differences: ReadonlyArray<LedgerDifference>,
  rows: ReadonlyArray<readonly [rule: string, count: number]>
): Run => ({
  ...run,
  differences: [...run.differences, ...differences],
  checked: { ...run.checked, ...Object.fromEntries(rows.map(([rule, count]) => [rule, (run.checked[rule] ?? 0) + count])) }
})

/** In the order of the rules, and of the places within each. */
const reportOf = ({ checked, differences }: Run): LedgerReport => ({
  ok: differences.length === 0,
  checked: Object.fromEntries(ledgerRules.flatMap(({ rule }) => (checked[rule] === undefined ? [] : [[rule, checked[rule]]]))),
  differences: ledgerRules.flatMap(({ rule }) => differences.filter((one) => one.rule === rule))
})

const progressOf = ({ place, records, seen, startedAt }: Run): VerificationProgress => ({
  startedAt,
  records,
  seen,
  next: place === null ? null : nameOf(place)
})

const nameOf = (place: Place): string => {
  if (place._tag === "Rule") return wholeRules[place.at]?.rule ?? "the records"
  const behind = place.reference === null ? "" : ` behind ${place.reference}`
  return place._tag === "Unwritten"
    ? `records without a history${behind}`
    : `records of ${place.appId ?? "the first tenant"}${behind}`
}

import { createHash } from "node:crypto"
import { Clock, Context, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import { json } from "../../domain/Json.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import {
  type LedgerDifference,
  type LedgerReport,
  LedgerVerification,
  type VerificationBounds,
  type VerificationProgress
} from "../../services/ports/LedgerVerification.ts"
import { Distribution } from "../connection/Distribution.ts"
import { rowsOf } from "../connection/Rows.ts"
import { changedVerification } from "./ChangedVerification.ts"
import { askedBySmall, countedBySmall, isAskedOfStretches } from "./LedgerChanges.ts"
import { breachesStatement, type LedgerRule } from "./LedgerRule.ts"
import { ledgerSlices, type Slice, type Slicing, slicingOn } from "./LedgerSlices.ts"
import { firstStretch, ledgerStretches, Stretch } from "./LedgerStretches.ts"
import { Fold, positionFolds, SETTLED_AFTER_MS, type Summed } from "./PositionFolds.ts"
import { adjustmentRules } from "./rules/AdjustmentRules.ts"
import { digestRules } from "./rules/DigestRules.ts"
import { accountRules, entryRules } from "./rules/EntryRules.ts"
import { eventRules } from "./rules/EventRules.ts"
import { positionRules } from "./rules/PositionRules.ts"
import { exchangeRules, historyRules, recordRules } from "./rules/RecordRules.ts"
import { keptRules, requestRules, windowRules } from "./rules/RequestRules.ts"
import type { Asked } from "./UnreadRules.ts"
import { joined, MAX_DIFFERENCES, sliceSettings, verificationSteps } from "./VerificationSteps.ts"

/** How many references are checked at a time, which takes a second or two. */
export const SliceSize = Context.Reference<number>("gateway/persistence/SliceSize", { defaultValue: () => 2_000 })
/** Positions of tenants with few entries are checked together in one step for this long. */
const POSITIONS_MS = 1_000

/**
 * The next step of a verification: a rule that needs everything, an interval, the positions after a tenant or in the middle of
 * one, the names from providers after one, the tenant's records after one, or the records without lines after one.
 */
const Place = Schema.Union([
  Schema.TaggedStruct("Rule", { at: Schema.Number }),
  Schema.TaggedStruct("Stretch", { stretch: Stretch }),
  Schema.TaggedStruct("Positions", { after: Schema.NullOr(Schema.String), fold: Schema.NullOr(Fold) }),
  Schema.TaggedStruct("Names", { after: Schema.NullOr(Schema.Array(Schema.String)) }),
  Schema.TaggedStruct("Records", { appId: Schema.NullOr(Schema.String), reference: Schema.NullOr(Schema.String) }),
  Schema.TaggedStruct("Unwritten", { reference: Schema.NullOr(Schema.String) })
])
type Place = typeof Place.Type

/** A verification in progress. `program`: a hash of its rules; one with other rules is not resumed. */
const Run = Schema.Struct({
  program: Schema.String,
  startedAt: Schema.Number,
  records: Schema.Number,
  seen: Schema.Number,
  place: Schema.NullOr(Place),
  checked: Schema.Record(Schema.String, Schema.Number),
  differences: Schema.Array(
    Schema.Struct({
      rule: Schema.String,
      subject: Schema.String,
      found: Schema.String,
      unread: Schema.optionalKey(Schema.Literal(true))
    })
  )
})
type Run = typeof Run.Type

const counts = rowsOf(Schema.Struct({ count: Schema.BigInt }))
const kept = rowsOf(Schema.Struct({ progress: Schema.Unknown }))

/**
 * LedgerVerification on PostgreSQL. It owns the table verification_progress. Every step reads one snapshot (repeatable read)
 * while the gateway keeps working, so that a rule never compares data of two times; on Citus see `VerificationSteps`.
 */
export const LedgerVerificationPg = layerOf(LedgerVerification)(function* () {
  const sql = yield* SqlClient.SqlClient
  const { isDistributed } = yield* Distribution
  const { listedAfter, namesAfter, referencesAfter, tenantAfter, unwrittenAfter } = ledgerSlices(sql)
  const slicing = slicingOn({ isDistributed })
  const steps = verificationSteps(sql, { isDistributed })
  const folds = positionFolds(sql, positionRule)
  const { breaches, orUnread, partOrOther, partOrUnread, set, together } = steps
  const slicedRules = ledgerRules.filter(slicing.has)
  const stretches = ledgerStretches(sql, steps, stretchedRules)
  const wholeRules = askedWhole(slicing, isDistributed)
  const program = programOf(slicing, wholeRules)

  const checkWhole = Effect.fnUntraced(function* (run: Run, one: LedgerRule, place: Place) {
    const check = Effect.gen(function* () {
      const counted = sql.unsafe(isDistributed ? one.counted : countedBySmall(one))
      const { answer, unread } = yield* partOrUnread([one.rule], counts(counted))
      const statement = isDistributed ? breachesStatement(one, MAX_DIFFERENCES) : askedBySmall(one, MAX_DIFFERENCES)
      const differences = yield* breaches(one, statement, [])
      return { count: Number(answer?.[0]?.count ?? 0n), differences: [...unread, ...differences] }
    })
    const { count, differences } = yield* steps.whole(one, check)
    return { ...added(run, differences, [[one.rule, count]]), place }
  })

  const checkSlice = Effect.fnUntraced(function* (run: Run, slice: Slice) {
    const values = slicing.values(slice)
    let found: Run = { ...run, seen: run.seen + slice.references.length }
    for (const rules of yield* together(slicedRules)) {
      const { answer, unread } = yield* partOrUnread(namesOf(rules), counts(sql.unsafe(slicing.counts(rules), values)))
      const rows = rules.map(({ rule }, at) => [rule, Number(answer?.[at]?.count ?? 0n)] as const)
      found = added(found, unread, rows)
    }
    for (const one of slicedRules) {
      const room = MAX_DIFFERENCES - found.differences.filter(({ rule, unread }) => rule === one.rule && unread !== true).length
      if (room > 0) found = added(found, yield* breaches(one, slicing.breaches(one, room), values), [])
    }
    return found
  })

  /** The next references, of several tenants; on Citus of one. */
  const checkRecords = Effect.fnUntraced(function* (run: Run, place: Extract<Place, { _tag: "Records" }>) {
    const size = yield* SliceSize
    const found: Array<{ readonly appId: string; readonly reference: string }> = []
    let { appId, reference } = place
    let looked = run
    const least = isDistributed ? 1 : size
    while (found.length < least) {
      const next: Asked<ReadonlyArray<string>> =
        appId === null
          ? { answer: [], unread: [] }
          : yield* partOrUnread(namesOf(slicedRules), referencesAfter(appId, reference, size - found.length))
      const more = next.answer ?? []
      looked = added(looked, next.unread, [])
      for (const one of more) found.push({ appId: appId ?? "", reference: one })
      reference = more.at(-1) ?? null
      if (more.length > 0) continue
      const tenant: Asked<string | null> = yield* partOrOther(namesOf(slicedRules), tenantAfter(appId), listedAfter(appId))
      looked = added(looked, tenant.unread, [])
      appId = tenant.answer
      if (appId === null) break
    }
    yield* set(sliceSettings)
    const next: Place = appId === null ? firstUnwritten : { _tag: "Records", appId, reference }
    return { ...(yield* Effect.reduce(slicing.of(found), () => looked, checkSlice)), place: next }
  })

  const checkUnwritten = Effect.fnUntraced(function* (run: Run, { reference }: Extract<Place, { _tag: "Unwritten" }>) {
    const { found, reached } = yield* unwrittenAfter(reference, yield* SliceSize)
    yield* set(sliceSettings)
    const place: Place | null = reached === null ? null : { _tag: "Unwritten", reference: reached }
    return { ...(yield* Effect.reduce(slicing.of(found), () => run, checkSlice)), place }
  })

  /** Returns the tenants whose sums became complete in this step, to be stored after it. */
  const checkPositions = Effect.fnUntraced(function* (run: Run, place: Extract<Place, { _tag: "Positions" }>) {
    const began = yield* Clock.currentTimeMillis
    const whole: Array<Fold> = []
    let found = run
    let { after, fold } = place
    do {
      if (fold === null) {
        const { answer: appId, unread }: Asked<string | null> = yield* partOrOther(
          [positionRule.rule],
          folds.tenantAfter(after),
          listedAfter(after)
        )
        if (appId === null) return { run: { ...added(found, unread, []), place: firstNames }, whole }
        found = added(found, unread, [])
        fold = { appId, reference: null, upto: began - SETTLED_AFTER_MS, sums: [] }
      }
      const { answer: next, unread }: Asked<Summed> = yield* partOrUnread([positionRule.rule], folds.add(fold))
      found = added(found, unread, [])
      if (next === null) after = fold.appId
      if (next?.isLast === true) {
        const { appId, sums, upto } = next.fold
        const differences = yield* breaches(positionRule, folds.ofTenant(MAX_DIFFERENCES), folds.values(next.fold))
        const counted = yield* partOrUnread([positionRule.rule], folds.positionsOf(appId))
        found = added(found, [...differences, ...counted.unread], [[positionRule.rule, counted.answer ?? 0]])
        whole.push({ appId, reference: null, sums, upto })
        after = appId
      }
      fold = next === null || next.isLast ? null : next.fold
    } while ((yield* Clock.currentTimeMillis) - began < POSITIONS_MS)
    return { run: { ...found, place: { _tag: "Positions", after, fold } satisfies Place }, whole }
  })

  const checkNames = Effect.fnUntraced(function* (run: Run, { after }: Extract<Place, { _tag: "Names" }>) {
    const page = yield* namesAfter(after, yield* SliceSize)
    yield* set(sliceSettings)
    const differences = yield* breaches(namesRule, page.breaches(namesRule, MAX_DIFFERENCES), page.values)
    const place: Place = page.last === null ? firstRecords : { _tag: "Names", after: page.last }
    return { ...added(run, differences, [[namesRule.rule, page.count]]), place }
  })

  const checkStretch = Effect.fnUntraced(function* (run: Run, { stretch }: Extract<Place, { _tag: "Stretch" }>) {
    const { counts: rows, differences, next } = yield* stretches.check(stretch)
    const place: Place = next === null ? firstPositions : { _tag: "Stretch", stretch: next }
    return { ...added(run, differences, rows), place }
  })

  const stepAt = Effect.fnUntraced(function* (run: Run, place: Place, isKept: boolean) {
    if (place._tag === "Stretch") return yield* checkStretch(run, place)
    if (place._tag === "Records") return yield* steps.part(checkRecords(run, place))
    if (place._tag === "Unwritten") return yield* steps.part(checkUnwritten(run, place))
    if (place._tag === "Names") return yield* steps.part(checkNames(run, place))
    if (place._tag === "Positions") {
      const found = yield* steps.changes(checkPositions(run, place))
      if (isKept) yield* Effect.forEach(found.whole, folds.keep, { discard: true })
      return found.run
    }
    const one = wholeRules[place.at]
    return one === undefined
      ? { ...run, place: isDistributed ? firstRecords : firstStretches }
      : yield* checkWhole(run, one, { _tag: "Rule", at: place.at + 1 })
  })

  const step = Effect.fnUntraced(function* (run: Run, place: Place, isKept: boolean) {
    const { answer, unread } = yield* orUnread(namesOf(rulesOf(place, wholeRules, slicedRules)), stepAt(run, place, isKept))
    return answer ?? { ...added(run, unread, []), place: beyond(place) }
  })

  const begun = Effect.gen(function* () {
    const counted = counts(steps.count(sql`SELECT count(*) FROM transactions`))
    const { answer, unread } = yield* orUnread(namesOf(slicedRules), counted)
    const startedAt = yield* Clock.currentTimeMillis
    const run: Run = { ...nothingYet, program, startedAt, records: Number(answer?.[0]?.count ?? 0n) }
    return added(run, unread, [])
  })

  const leftOff = Effect.gen(function* () {
    const [row] = yield* kept(sql`SELECT progress FROM verification_progress`)
    const run = row === undefined ? Option.none<Run>() : Schema.decodeUnknownOption(Run)(row.progress)
    return Option.filter(run, ({ program: made }) => made === program)
  })

  const keep = (run: Run) =>
    run.place === null
      ? Effect.andThen(
          sql`DELETE FROM verification_progress`,
          Effect.when(Effect.asVoid(folds.begin(run.startedAt)), Effect.succeed(!isDistributed && wasRead(run)))
        )
      : sql`INSERT INTO verification_progress (at, progress) VALUES (now(), ${json(run)}::json)
            ON CONFLICT (is_only) DO UPDATE SET at = EXCLUDED.at, progress = EXCLUDED.progress`

  const verify = Effect.gen(function* () {
    let run: Run = yield* begun
    while (run.place !== null) run = yield* step(run, run.place, false)
    return reportOf(run)
  }).pipe(Effect.orDie, Effect.withSpan("LedgerVerification.verify"))

  const verifyWithin = Effect.fn("LedgerVerification.verifyWithin")(function* ({ goesOn, onStep, until }: VerificationBounds) {
    const before = goesOn ? yield* leftOff : Option.none<Run>()
    let run: Run = Option.isSome(before) ? before.value : yield* begun
    while (run.place !== null) {
      run = yield* step(run, run.place, true)
      yield* keep(run)
      yield* onStep(progressOf(run, wholeRules))
      if (until !== null && (yield* Clock.currentTimeMillis) >= until) break
    }
    return { ...reportOf(run), ...progressOf(run, wholeRules) }
  }, Effect.orDie)

  const verifyChanged = changedVerification(sql, { folds, steps, isDistributed, rules: ledgerRules })
  return { verify, verifyWithin, verifyChanged }
})

/** Every rule, in the order of the report. */
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

const ruleOf = (name: string): LedgerRule => {
  const found = ledgerRules.find(({ rule }) => rule === name)
  if (found === undefined) throw new Error(`there is no rule ${name}`)
  return found
}
/** These read all postings ever, or all names that providers ever gave, and therefore work in steps of their own. */
const positionRule = ruleOf("positions_are_the_fold")
const namesRule = ruleOf("provider_references_were_written")
const stretchedRules = ledgerRules.filter(isAskedOfStretches)
const walked: ReadonlyArray<LedgerRule> = [positionRule, namesRule, ...stretchedRules]

/** On Citus the rules that walk through all tenants are also applied as a whole. */
const askedWhole = (slicing: Slicing, isDistributed: boolean): ReadonlyArray<LedgerRule> =>
  ledgerRules.filter((one) => !slicing.has(one) && (isDistributed || !walked.includes(one)))

const programOf = (slicing: Slicing, wholeRules: ReadonlyArray<LedgerRule>): string =>
  createHash("sha256")
    .update(json(ledgerRules.map((one) => [slicing.has(one), wholeRules.includes(one), one.counted, one.broken])))
    .digest("hex")

const firstStretches: Place = { _tag: "Stretch", stretch: firstStretch }
const firstPositions: Place = { _tag: "Positions", after: null, fold: null }
const firstNames: Place = { _tag: "Names", after: null }
const firstRecords: Place = { _tag: "Records", appId: null, reference: null }
const firstUnwritten: Place = { _tag: "Unwritten", reference: null }
const rulesOf = (
  place: Place,
  whole: ReadonlyArray<LedgerRule>,
  sliced: ReadonlyArray<LedgerRule>
): ReadonlyArray<LedgerRule> => {
  switch (place._tag) {
    case "Rule":
      return whole.slice(place.at, place.at + 1)
    case "Stretch":
      return stretchedRules
    case "Positions":
      return [positionRule]
    case "Names":
      return [namesRule]
    case "Records":
    case "Unwritten":
      return sliced
  }
}

/** Where a verification continues when the way from this place to the next cannot be read. */
const beyond = (place: Place): Place | null => {
  switch (place._tag) {
    case "Rule":
      return { _tag: "Rule", at: place.at + 1 }
    case "Stretch":
      return firstPositions
    case "Positions":
      return firstNames
    case "Names":
      return firstRecords
    case "Records":
      return firstUnwritten
    case "Unwritten":
      return null
  }
}

const nothingYet = {
  seen: 0,
  place: { _tag: "Rule", at: 0 },
  checked: {},
  differences: []
} satisfies Partial<Run>

const namesOf = (rules: ReadonlyArray<LedgerRule>): ReadonlyArray<string> => rules.map(({ rule }) => rule)

/** False when something could not be read: later checks cannot build on this one. */
const wasRead = ({ differences }: Run): boolean => differences.every(({ unread }) => unread !== true)

const added = (
  run: Run,
  differences: ReadonlyArray<LedgerDifference>,
  rows: ReadonlyArray<readonly [rule: string, count: number]>
): Run => ({
  ...run,
  differences: joined(run.differences, differences),
  checked: { ...run.checked, ...Object.fromEntries(rows.map(([rule, count]) => [rule, (run.checked[rule] ?? 0) + count])) }
})

/** In the order of the rules, and of the places within each. */
const reportOf = ({ checked, differences }: Run): LedgerReport => ({
  ok: differences.length === 0,
  checked: Object.fromEntries(ledgerRules.flatMap(({ rule }) => (checked[rule] === undefined ? [] : [[rule, checked[rule]]]))),
  differences: ledgerRules.flatMap(({ rule }) => differences.filter((one) => one.rule === rule))
})

const nameOf = (place: Place, wholeRules: ReadonlyArray<LedgerRule>): string => {
  switch (place._tag) {
    case "Rule":
      return wholeRules[place.at]?.rule ?? "keys and events"
    case "Stretch":
      return `keys and events from ${place.stretch.from === null ? "the beginning" : iso(place.stretch.from)}`
    case "Positions":
      return `positions behind ${place.fold?.appId ?? place.after ?? "the beginning"}`
    case "Names":
      return `references of providers behind ${place.after?.join("/") ?? "the beginning"}`
    case "Records":
      return `records of ${place.appId ?? "the first tenant"}${behind(place.reference)}`
    case "Unwritten":
      return `records without a history${behind(place.reference)}`
  }
}

const progressOf = ({ place, records, seen, startedAt }: Run, wholeRules: ReadonlyArray<LedgerRule>): VerificationProgress => ({
  startedAt,
  records,
  seen,
  next: place === null ? null : nameOf(place, wholeRules)
})

const behind = (reference: string | null): string => (reference === null ? "" : ` behind ${reference}`)

import { expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AppId } from "../../../src/domain/Ids.ts"
import { isOfOneRecord } from "../../../src/persistence/ledger/LedgerSlices.ts"
import { LedgerVerificationPg, ledgerRules, SliceSize } from "../../../src/persistence/ledger/LedgerVerificationPg.ts"
import { LedgerVerification, type VerificationBounds } from "../../../src/services/ports/LedgerVerification.ts"
import { given, givenTenantWith, openOne } from "../../support/LedgerSteps.ts"

const SIZE = 2
const tenants = ["acme", "beta", "zeta"] as const
const keys = ["1", "2", "3", "4"] as const

/** Three tenants with a float and four payouts each, checked two references at a time. */
const givenBooks = Effect.gen(function* () {
  const { node } = yield* given(50_000n)
  for (const tenant of tenants) {
    const appId = AppId.make(tenant)
    if (tenant !== "acme") yield* Effect.provideContext(givenTenantWith(appId, 50_000n), node)
    for (const key of keys) yield* Effect.provideContext(openOne(appId, key, 1_000n), node)
  }
  const sql = Context.get(node, SqlClient.SqlClient)
  const audit = Context.get(yield* Effect.provideContext(Layer.build(LedgerVerificationPg), node), LedgerVerification)
  const within = (bounds: Partial<VerificationBounds>) =>
    Effect.provideService(
      audit.verifyWithin({ goesOn: false, until: null, onStep: () => Effect.void, ...bounds }),
      SliceSize,
      SIZE
    )
  const places = yield* sql<{ appId: string; reference: string }>`
    SELECT DISTINCT app_id AS "appId", reference FROM transactions ORDER BY app_id, reference`
  return { audit, node, places, sql, within }
})

/** Of the rules that steps without their requests keep. */
const RULES = [
  "entries_balance",
  "entries_match_the_record",
  "columns_match_the_record",
  "history_is_whole",
  "positions_are_the_fold"
]
const ofRules = (differences: ReadonlyArray<{ readonly rule: string; readonly subject: string }>) =>
  differences.filter(({ rule }) => RULES.includes(rule)).map(({ rule, subject }) => `${rule} ${subject}`)

/** Its column says another provider than its record. */
const damage = (sql: SqlClient.SqlClient, appId: string, reference: string) =>
  sql`UPDATE transactions SET provider = 'another' WHERE app_id = ${appId} AND reference = ${reference}`
const undo = (sql: SqlClient.SqlClient) => sql`UPDATE transactions SET provider = record->>'provider'`

it.live("damage is found wherever it lies in a slice: first, last, and on both sides of every border", () =>
  Effect.gen(function* () {
    const { places, sql, within } = yield* givenBooks
    expect(places).toHaveLength(tenants.length * keys.length)
    expect(ofRules((yield* within({})).differences)).toEqual([])
    for (const { appId, reference } of places) yield* damage(sql, appId, reference)
    const everywhere = places.map(({ appId, reference }) => `columns_match_the_record ${appId}/${reference}`)
    expect(ofRules((yield* within({})).differences)).toEqual(everywhere)
    for (const at of [0, SIZE - 1, SIZE, places.length - 1]) {
      yield* undo(sql)
      yield* damage(sql, places[at]?.appId ?? "", places[at]?.reference ?? "")
      expect(ofRules((yield* within({})).differences)).toEqual([everywhere[at]])
    }
  }).pipe(Effect.scoped)
)

it.live("slices of any size find the same, and look at every row once", () =>
  Effect.gen(function* () {
    const { audit, places, sql, within } = yield* givenBooks
    for (const { appId, reference } of places.filter((_, at) => at % 3 === 0)) yield* damage(sql, appId, reference)
    const whole = yield* audit.verify
    const { checked, differences } = yield* within({})
    expect({ checked, differences }).toEqual({ checked: whole.checked, differences: whole.differences })
    expect(checked).toMatchObject({ columns_match_the_record: 12, entries_balance: 15, positions_are_the_fold: 3 })
  }).pipe(Effect.scoped)
)

it.live("one that is killed after any of its steps goes on there, keeps what it found, and misses nothing", () =>
  Effect.gen(function* () {
    const { places, sql, within } = yield* givenBooks
    for (const { appId, reference } of places) yield* damage(sql, appId, reference)
    const { checked, differences } = yield* within({})
    let kills = 0
    const killedOnce = () => {
      let steps = 0
      return within({
        goesOn: true,
        onStep: ({ next }) => (++steps === 2 && next !== null ? Effect.die(new Error("killed")) : Effect.void)
      })
    }
    let last = yield* Effect.exit(killedOnce())
    while (Exit.isFailure(last)) {
      kills++
      last = yield* Effect.exit(killedOnce())
    }
    expect(kills).toBeGreaterThan(ledgerRules.filter((one) => !isOfOneRecord(one)).length / 2)
    expect(last.value).toMatchObject({ checked, differences, next: null })
    expect(yield* sql`SELECT 1 FROM verification_progress`).toEqual([])
  }).pipe(Effect.scoped)
)

it.live("one that has no more time ends after its step and says where the next one goes on", () =>
  Effect.gen(function* () {
    const { within } = yield* givenBooks
    const whole = yield* within({})
    const nexts: Array<string | null> = []
    let found = yield* within({ goesOn: true, until: 0 })
    while (found.next !== null) {
      nexts.push(found.next)
      found = yield* within({ goesOn: true, until: 0 })
    }
    expect(nexts).toEqual(
      expect.arrayContaining([expect.stringMatching("^records of acme behind "), "records without a history"])
    )
    expect(new Set(nexts).size).toBe(nexts.length)
    expect([found.checked, found.seen]).toEqual([whole.checked, 15])
  }).pipe(Effect.scoped)
)

it.live("one that is told nothing begins at the beginning, whatever was kept", () =>
  Effect.gen(function* () {
    const { places, sql, within } = yield* givenBooks
    while (!(yield* within({ goesOn: true, until: 0 })).next?.startsWith("records without")) continue
    const [first] = places
    yield* damage(sql, first?.appId ?? "", first?.reference ?? "")
    expect(ofRules((yield* within({})).differences)).toEqual([`columns_match_the_record ${first?.appId}/${first?.reference}`])
  }).pipe(Effect.scoped)
)

it.live("what another program's rules were asked of is asked anew", () =>
  Effect.gen(function* () {
    const { sql, within } = yield* givenBooks
    const whole = yield* within({})
    yield* within({ goesOn: true, until: 0 })
    yield* sql`UPDATE verification_progress SET progress = (progress::jsonb || '{"program":"another","place":{"_tag":"Unwritten","reference":null}}')::json`
    expect((yield* within({ goesOn: true })).checked).toEqual(whole.checked)
  }).pipe(Effect.scoped)
)

it.live("what changes while it is on its way is no difference", () =>
  Effect.gen(function* () {
    const { node, within } = yield* givenBooks
    let made = 0
    const onStep = () =>
      Effect.asVoid(Effect.provideContext(openOne(AppId.make(tenants[made % 3] ?? "acme"), `later ${made++}`, 100n), node))
    const { differences, next } = yield* within({ onStep: (step) => (step.next === null ? Effect.void : Effect.orDie(onStep())) })
    expect([ofRules(differences), next, made > 30]).toEqual([[], null, true])
  }).pipe(Effect.scoped)
)

it.live("a record without one line, one of a tenant that nothing else names, and one without a name are found", () =>
  Effect.gen(function* () {
    const { sql, within } = yield* givenBooks
    const copy = (appId: string, reference: string) => sql`
      INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
      SELECT ${appId}, ${reference}, mode, kind, status, needs_review, provider, revision, record, created_at FROM transactions LIMIT 1`
    yield* copy("acme", "")
    yield* copy("nobody", "R1")
    yield* copy("acme", "~")
    const found = ofRules((yield* within({})).differences).filter((one) => one.startsWith("history_is_whole"))
    expect(found.sort()).toEqual(["history_is_whole acme/", "history_is_whole acme/~", "history_is_whole nobody/R1"])
  }).pipe(Effect.scoped)
)

it("a rule of one record reads nothing that a slice leaves whole", () => {
  const narrowed = ["transactions", "journal", "postings", "transaction_history", "float_adjustments", "open_work"]
  const read = ledgerRules.filter(isOfOneRecord).flatMap(({ broken, counted, rule }) => {
    const text = `${broken} ${counted}`.replaceAll(/--.*$|(DISTINCT|epoch) FROM/gm, "")
    const own = new Set([...text.matchAll(/(\w+) AS (?:MATERIALIZED )?\(/g)].map(([, name]) => name))
    return [...text.matchAll(/\b(?:FROM|JOIN)\s+(?:LATERAL\s+)?([a-z_]+)\b(?!\s*\()/g)]
      .map(([, name]) => name ?? "")
      .filter((name) => !own.has(name) && !narrowed.includes(name))
      .map((name) => `${rule} reads ${name}`)
  })
  expect(read).toEqual([])
})

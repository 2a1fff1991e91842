import { it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import type { AppId } from "../../../src/domain/Ids.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { applyStatement, applyStatementOfTenant } from "../../../src/persistence/ledger/FloatLedgerPg.ts"
import { breachesStatement } from "../../../src/persistence/ledger/LedgerRule.ts"
import { openStatement, openStatementOfTenant } from "../../../src/persistence/ledger/OpenSteps.ts"
import { digestRules } from "../../../src/persistence/ledger/rules/DigestRules.ts"
import type { ApplyStep, OpenOutcome, OpenStep } from "../../../src/services/ports/FloatLedger.ts"
import { citusUrl } from "../../support/CitusDatabase.ts"
import { emptyBooks, payerName, positionName } from "../../support/LedgerBooks.ts"
import { foldApply, foldOpen, hex } from "../../support/LedgerFold.ts"
import { everyRow, rowsOf, sharedWindows } from "../../support/LedgerRows.ts"
import { seeded } from "../../support/Random.ts"
import { randomSteps, type StepSource, scopeOf } from "../../support/RandomSteps.ts"
import { givenTenantRow } from "../../support/TenantRow.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const STORIES = 100
const STORIES_OF_ONE_TENANT = 20
const BATCHES = 18
const KEYS = 24
const STEPS_AT_MOST = 7

const traceparent = null
/** The seed of what is drawn; another one is other batches. */
const { PROPERTY_SEED = "1" } = process.env
const seed = PROPERTY_SEED === "any" ? Date.now() : Number(PROPERTY_SEED)

/** The story's tenants with their claimed keys, payers and float, in the database and in the books. */
const givenStory = Effect.fnUntraced(function* (source: StepSource, story: number, float: () => readonly [bigint, bigint]) {
  const sql = yield* SqlClient.SqlClient
  const books = emptyBooks()
  for (const [index, appId] of source.tenants.entries()) {
    const status = index === 1 && story % 4 === 0 ? "frozen" : "active"
    if (status === "frozen") books.frozen.add(appId)
    yield* givenTenantRow(sql, appId, ["payouts"], status)
    const keys = yield* sql<{ key: string; fence: bigint }>`
      INSERT INTO idempotency_keys (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, created_at)
      SELECT ${appId}, 'live', 'POST /v1/payouts', 'key' || n, '\\x00', nextval('fences'), 'claimed', now(), now()
      FROM generate_series(1, ${KEYS}::int) n RETURNING key, fence`
    for (const { fence, key } of keys)
      books.keys.set(scopeOf(appId, key), { fence, state: "claimed", reference: null, answer: null })
    for (const hash of source.hashes.slice(0, 2)) {
      yield* sql`INSERT INTO payer_locks (app_id, mode, party_hash, at) VALUES (${appId}, 'live', ${hash}, now())`
      books.payers.set(payerName(appId, hex(hash) ?? ""), { reference: null, recent: [] })
    }
    const [available, receivable] = float()
    yield* sql`INSERT INTO float_positions (app_id, mode, currency, available_minor, receivable_minor, credited_minor)
      VALUES (${appId}, 'live', 'UGX', ${available}, ${receivable}, ${available - receivable})`
    books.positions.set(
      positionName(appId, "UGX"),
      new Map([
        ["available", available],
        ["receivable", receivable],
        ["credited", available - receivable]
      ])
    )
  }
  const wanted = ["payout.pending", "payout.successful"].slice(story % 2)
  yield* sql`INSERT INTO webhook_endpoints (app_id, mode, url, events, enabled, secret_sealed, created_at, updated_at)
    VALUES (${source.tenants[0]}, 'live', 'https://a.example/', ${wanted}, true, '\\x00', now(), now())`
  books.wanted.set(source.tenants[0], wanted)
  return books
})

/** What a restore forgot, booked by an operator by the reference that it moved under. */
const bookedByHand = (sql: SqlClient.SqlClient, { appId, mode, reference }: Pick<Transaction, "appId" | "mode" | "reference">) =>
  sql`INSERT INTO float_adjustments (app_id, mode, external_id, reference, direction, currency, amount_minor, note, at, position)
    VALUES (${appId}, ${mode}, ${reference}, ${`A${reference}`}, 'debit', 'UGX', 1, 'the statement', now(), '{}')`

const sorted = (rows: ReadonlyArray<unknown>) => rows.map((row) => JSON.stringify(row)).sort()

const outcomeOf = ({ failed_window, reservable, verdict }: { verdict: string; reservable: bigint; failed_window: number }) =>
  verdict === "ShortFloat"
    ? { _tag: verdict, available: reservable }
    : verdict === "OverCap"
      ? { _tag: verdict, counter: failed_window - 1 }
      : { _tag: verdict }

interface Functions {
  readonly open: typeof openStatement
  readonly apply: typeof applyStatement
  /** The calls that a batch is. */
  readonly calls: <Step>(steps: ReadonlyArray<Step>, appIdOf: (step: Step) => AppId) => ReadonlyArray<ReadonlyArray<Step>>
}

const ofAnyTenants: Functions = { open: openStatement, apply: applyStatement, calls: (steps) => [steps] }
const ofOneTenant: Functions = {
  open: openStatementOfTenant,
  apply: applyStatementOfTenant,
  calls: (steps, appIdOf) => [...Map.groupBy(steps, appIdOf).values()]
}

/** Compares what the functions decide and write with the fold; answers the verdicts that there were. */
const compare = Effect.fnUntraced(function* ({ apply, calls, open }: Functions, stories: number) {
  const sql = yield* SqlClient.SqlClient
  const seen = new Set<string>()
  for (let story = 0; story < stories; story++) {
    const random = seeded(seed * 1_000_003 + story)
    const source = randomSteps(random, story)
    let books = yield* givenStory(source, story, () => [
      BigInt(random.below(600)),
      random.chance(0.3) ? BigInt(random.below(200)) : 0n
    ])
    const opened = Effect.fnUntraced(function* (steps: ReadonlyArray<OpenStep>, where: string) {
      for (const { transaction } of steps) {
        if (!random.chance(books.frozen.has(transaction.appId) ? 0.4 : 0.1)) continue
        yield* bookedByHand(sql, transaction)
        books.booked.add(transaction.reference)
        if (books.frozen.has(transaction.appId)) seen.add(steps.length === 1 ? BOOKED_ALONE : BOOKED_IN_BATCH)
      }
      const folded: ReadonlyArray<OpenOutcome> = steps.map((step) => foldOpen(books, step))
      const rows = yield* sql.unsafe<{ verdict: string; reservable: bigint; failed_window: number }>(
        ...open(steps.map((step) => ({ ...step, traceparent })))
      )
      expect(rows.map(outcomeOf), where).toStrictEqual(folded)
      for (const { _tag } of folded) seen.add(_tag)
    })
    const applied = Effect.fnUntraced(function* (steps: ReadonlyArray<ApplyStep>, where: string) {
      const before = structuredClone(books)
      const folded = foldApply(books, steps)
      const exit = yield* Effect.exit(sql.unsafe<{ applied: boolean }>(...apply(steps.map((step) => ({ ...step, traceparent })))))
      const found = Exit.isSuccess(exit) ? exit.value.map((row) => ({ _tag: row.applied ? "Applied" : "Stale" })) : "refused"
      if (found !== "refused" || folded !== "refused") expect(found, `${where}: ${JSON.stringify(exit)}`).toStrictEqual(folded)
      if (folded === "refused") books = before
      for (const one of folded === "refused" ? ["refused"] : folded.map(({ _tag }) => _tag)) seen.add(one)
    })
    for (let batch = 0; batch < BATCHES; batch++) {
      const size = random.chance(0.3) ? 1 : 2 + random.below(STEPS_AT_MOST - 1)
      const where = `story ${story}, batch ${batch}, seed ${seed}`
      if (batch % 2 === 0) {
        const steps = Array.from({ length: size }, () => source.opening(books))
        for (const call of calls(steps, ({ transaction }) => transaction.appId)) yield* opened(call, where)
      } else {
        const steps = Array.from({ length: size }, () => source.applying(books, size === 1))
        for (const call of calls(steps, ({ next }) => next.appId)) yield* applied(call, where)
      }
    }
    const read = (text: string, parameter: string) => sql.unsafe<{ name: string; row: ReadonlyArray<unknown> }>(text, [parameter])
    const rows = [
      ...(yield* Effect.forEach(source.tenants, (appId) => read(everyRow, appId))).flat(),
      ...(yield* read(sharedWindows, String(story)))
    ]
    for (const [name, expected] of Object.entries(rowsOf(books)))
      expect(
        sorted(rows.filter((one) => one.name === name).map(({ row }) => row)),
        `${name} of story ${story}, seed ${seed}`
      ).toStrictEqual(sorted(expected))
  }
  // Once for all stories, as a rule looks at every record: what it finds names the tenant of its story.
  for (const rule of digestRules)
    expect(yield* sql.unsafe(breachesStatement(rule, 10)), `${rule.rule}, seed ${seed}`).toStrictEqual([])
  return [...seen].sort()
})

const BOOKED_ALONE = "booked of a frozen tenant, one step"
const BOOKED_IN_BATCH = "booked of a frozen tenant, in a batch"
const everyVerdict = [
  "Applied",
  "ClaimLost",
  "Frozen",
  "Opened",
  "OverCap",
  "PayerBusy",
  "ShortFloat",
  "Stale",
  BOOKED_IN_BATCH,
  BOOKED_ALONE,
  "refused"
]

const onDatabase = <A, E>(test: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  test.pipe(
    Effect.provide(Layer.unwrap(Effect.map(givenDatabase, (url) => Database.layer({ url }))), { local: true }),
    Effect.scoped
  )

it.live(
  `money steps decide and write what a fold of the same steps does, in ${STORIES * BATCHES} batches`,
  () =>
    onDatabase(
      Effect.gen(function* () {
        const compared = citusUrl === undefined ? compare(ofAnyTenants, STORIES) : compare(ofOneTenant, STORIES_OF_ONE_TENANT)
        expect(yield* compared).toStrictEqual(everyVerdict)
      })
    ),
  600_000
)

it.live(
  `so do the functions of one tenant, which Citus sends to its server, in ${STORIES_OF_ONE_TENANT * BATCHES} batches`,
  () =>
    onDatabase(
      Effect.gen(function* () {
        expect(yield* compare(ofOneTenant, STORIES_OF_ONE_TENANT)).toStrictEqual(everyVerdict)
      })
    ),
  600_000
)

import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { LedgerVerificationPg, ledgerRules } from "../../../src/persistence/ledger/LedgerVerificationPg.ts"
import { LedgerVerification } from "../../../src/services/ports/LedgerVerification.ts"
import { appId, given, openOne } from "../../support/LedgerSteps.ts"
import { waitsForLock } from "../../support/LockWaits.ts"
import { givenLedger } from "../../support/TestLedger.ts"

/** A tenant with UGX 50,000, of which three payouts of UGX 10,000 hold theirs. */
const givenBooks = Effect.gen(function* () {
  const { node, url } = yield* given(50_000n)
  for (const key of ["1", "2", "3"]) yield* Effect.provideContext(openOne(appId, key, 10_000n), node)
  const sql = Context.get(node, SqlClient.SqlClient)
  const { verify } = Context.get(yield* Effect.provideContext(Layer.build(LedgerVerificationPg), node), LedgerVerification)
  // A reservation and a credit have no record of what else a gateway writes about them.
  const rules = ["entries_balance", "positions_are_the_fold", "columns_match_the_record", "closed_records_keep_no_secret"]
  const differences = Effect.map(verify, (report) => report.differences.filter(({ rule }) => rules.includes(rule)))
  return { differences, node, sql, url, verify }
})

/** One minor unit too much in the position, on both of its sides, as the table demands. */
const damagePosition = (sql: SqlClient.SqlClient) =>
  sql`UPDATE float_positions SET available_minor = available_minor + 1, credited_minor = credited_minor + 1`
const found = (account: string, stated: number) => ({
  rule: "positions_are_the_fold",
  subject: `${appId}/live/UGX/${account}`,
  found: `the position says ${stated + 1}, its postings ${stated}`
})
const WRONG = [found("available", 17_000), found("credited", 50_000)]

it.live("reports every rule with the rows that it looked at, and is ok where none breaks one", () =>
  Effect.gen(function* () {
    const { verify } = yield* givenBooks
    const { checked, differences, ok } = yield* verify
    expect(Object.keys(checked)).toEqual(ledgerRules.map(({ rule }) => rule))
    expect(checked).toMatchObject({ entries_balance: 4, positions_are_the_fold: 1, columns_match_the_record: 3 })
    expect(ok).toBe(differences.length === 0)
  }).pipe(Effect.scoped)
)

it.live("names the rule, the row and what was found", () =>
  Effect.gen(function* () {
    const { differences, sql, verify } = yield* givenBooks
    expect(yield* differences).toEqual([])
    yield* damagePosition(sql)
    expect(yield* differences).toEqual(WRONG)
    expect((yield* verify).ok).toBe(false)
  }).pipe(Effect.scoped)
)

it.live("reports at most a thousand rows of each rule", () =>
  Effect.gen(function* () {
    const { differences, sql } = yield* givenBooks
    yield* sql`INSERT INTO float_positions (app_id, mode, currency, available_minor, credited_minor)
      SELECT ${appId}, 'test', 'X' || n, 1, 1 FROM generate_series(100, 600) n`
    const rules = (yield* differences).map(({ rule }) => rule)
    expect([rules.length, new Set(rules)]).toEqual([1000, new Set(["positions_are_the_fold"])])
  }).pipe(Effect.scoped)
)

it.live("says of a rule that it met a row which cannot be read, and goes on with the others", () =>
  Effect.gen(function* () {
    const { differences, sql } = yield* givenBooks
    yield* damagePosition(sql)
    yield* sql`UPDATE transactions SET record = replace(record::text, '"version":1', '"needsReview":"perhaps"')::json`
    expect(yield* differences).toEqual([
      ...WRONG,
      {
        rule: "columns_match_the_record",
        subject: "",
        found: expect.stringMatching(/^a row that cannot be read: .*invalid input syntax for type boolean: "perhaps"/)
      }
    ])
  }).pipe(Effect.scoped)
)

it.live("ends with a defect where a rule cannot be run at all", () =>
  Effect.gen(function* () {
    const { sql, verify } = yield* givenBooks
    yield* sql`ALTER TABLE float_positions RENAME COLUMN available_minor TO elsewhere`
    const exit = yield* Effect.exit(verify)
    expect(Exit.hasDies(exit)).toBe(true)
  }).pipe(Effect.scoped)
)

it.live("reads one moment, which begins once nobody empties a month, and has an hour for it", () =>
  Effect.gen(function* () {
    const { differences, node, url } = yield* givenBooks
    const other = Context.get(yield* givenLedger(url), SqlClient.SqlClient)
    const verifying = yield* Effect.gen(function* () {
      yield* other`LOCK TABLE events IN ACCESS EXCLUSIVE MODE`
      const verifying = yield* Effect.forkDetach(differences)
      yield* waitsForLock(Context.get(node, SqlClient.SqlClient))
      yield* damagePosition(other)
      return verifying
    }).pipe(other.withTransaction)
    expect(yield* Fiber.join(verifying)).toEqual(WRONG)
  }).pipe(Effect.scoped)
)

it.live("asks for a snapshot that changes nothing, with the settings of its rules", () =>
  Effect.gen(function* () {
    const { verify } = yield* givenBooks
    const texts: Array<string> = []
    const note = (message: unknown) => {
      if (typeof message === "object" && message !== null && "text" in message) texts.push(String(message.text))
    }
    yield* Effect.acquireUseRelease(
      Effect.sync(() => subscribe("gateway/persistence/SentStatements", note)),
      () => verify,
      () => Effect.sync(() => unsubscribe("gateway/persistence/SentStatements", note))
    )
    const [first, ...steps] = texts.flatMap((text, at) => (text === "BEGIN" ? [texts.slice(at + 1, at + 3)] : []))
    expect(first?.[1]).toBe("SELECT count(*) FROM transactions")
    expect(new Set(steps.map(([begins]) => begins))).toEqual(
      new Set(["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"])
    )
    expect(new Set(steps.map(([, locks]) => locks))).toEqual(new Set(["LOCK TABLE events IN ACCESS SHARE MODE"]))
    // They are for a step that has met a value that cannot be read.
    expect(texts.filter((text) => text.startsWith("SAVEPOINT"))).toEqual([])
  }).pipe(Effect.scoped)
)

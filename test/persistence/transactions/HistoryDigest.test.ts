import { it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import type { Fact } from "../../../src/domain/Fact.ts"
import { breachesStatement } from "../../../src/persistence/ledger/LedgerRule.ts"
import { digestRules } from "../../../src/persistence/ledger/rules/DigestRules.ts"
import type { CapturedCall } from "../../../src/runtime/CapturedCall.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { appId, applyStep, given, openStep } from "../../support/LedgerSteps.ts"
import { givenClaim } from "../../support/PaymentRequests.ts"

const call: CapturedCall = { request: "POST /v1/payouts", response: "200 {}" }
const accepted = (providerReference: string): Fact => ({
  _tag: "Accepted",
  providerReference,
  observedAmount: null,
  observedCurrency: null,
  note: "taken"
})
const pending: Fact = { _tag: "StillPending", providerReference: null, note: "" }

/** An open payout, steps of this release on it, one of a release that keeps no digest, and what ledger verify finds. */
const givenPayout = Effect.gen(function* () {
  const { node } = yield* given(50_000n)
  const sql = Context.get(node, SqlClient.SqlClient)
  const ledger = Context.get(node, FloatLedger)
  const claim = yield* Effect.provideContext(givenClaim(appId, "key"), node)
  yield* ledger.open(openStep(claim, 10_000n))
  const step = (fact: Fact, raw: CapturedCall | null = null, note = "") =>
    Effect.gen(function* () {
      const made = yield* applyStep(claim, fact)
      return yield* ledger.apply({ ...made, line: { ...made.line, note }, response: null, nextPollAt: 1, raw })
    }).pipe(Effect.provideContext(node))
  const stepOfReleaseBefore = Effect.gen(function* () {
    yield* sql`UPDATE transactions SET revision = revision + 1, raw_response = '500 {}'`
    yield* sql`INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, record_digest)
      SELECT app_id, reference, revision, mode, now(), 'callback', 'StillPending', 'of the release before', status, record_digest(record::text) FROM transactions`
  })
  const stored = Effect.map(
    sql<{ lines: { to: number; gaps?: unknown } | null }>`SELECT record->'lines' AS lines FROM transactions`,
    ([row]) => [row?.lines?.to, row?.lines?.gaps]
  )
  const found = Effect.map(
    Effect.forEach(digestRules, (rule) =>
      Effect.map(sql.unsafe(breachesStatement(rule, 10)), (rows) => rows.map(() => rule.rule))
    ),
    (all) => all.flat()
  )
  return { found, sql, step, stepOfReleaseBefore, stored }
})

describe("the digest of a record's history", () => {
  it.live("goes on behind lines of a release that keeps none, and does not count those", () =>
    Effect.gen(function* () {
      const { found, sql, step, stepOfReleaseBefore, stored } = yield* givenPayout
      yield* step(accepted("P1"), call)
      expect(yield* stored).toStrictEqual([2, undefined])
      yield* stepOfReleaseBefore
      expect([yield* stored, yield* found]).toStrictEqual([[2, undefined], []])
      yield* sql`UPDATE journal SET note = 'given' WHERE revision = 1`
      expect(yield* found).toStrictEqual(["history_is_as_written"])
      yield* sql`UPDATE journal SET note = '' WHERE revision = 1`
      yield* step(pending)
      yield* stepOfReleaseBefore
      yield* step(pending)
      expect([yield* stored, yield* found]).toStrictEqual([
        [
          6,
          [
            [3, 3],
            [5, 5]
          ]
        ],
        []
      ])
      yield* sql`UPDATE journal SET note = 'taken by hand' WHERE revision = 4`
      expect(yield* found).toStrictEqual(["history_is_as_written"])
    }).pipe(Effect.scoped)
  )

  it.live("begins where a record has none, and with the next call of which it says what was answered", () =>
    Effect.gen(function* () {
      const { found, sql, step, stored } = yield* givenPayout
      yield* step(accepted("P1"), call)
      yield* sql`UPDATE transactions SET record = (record::jsonb - 'lines')::json`
      yield* step(pending)
      expect([yield* stored, yield* found]).toStrictEqual([[3, [[1, 2]]], []])
      // What is before its beginning it cannot tell.
      yield* sql`UPDATE journal SET note = 'given' WHERE revision = 1`
      yield* sql`UPDATE transactions SET raw_response = '500 {}'`
      expect(yield* found).toStrictEqual([])
      yield* step(pending, call)
      expect(yield* found).toStrictEqual([])
      yield* sql`UPDATE transactions SET raw_response = '500 {}'`
      expect(yield* found).toStrictEqual(["calls_are_as_written"])
    }).pipe(Effect.scoped)
  )

  it.live("is of the note as it is stored, where a provider's words have the form of calls and the end of a line has none", () =>
    Effect.gen(function* () {
      const { found, sql, step } = yield* givenPayout
      const forged = "calls: mtn send 200 in 3.1 (wait 1)"
      yield* step(accepted("P1"), null, `taken; ${forged}`)
      yield* step(pending, null, `taken; ${forged}`.replace("calls", "cal\u0000ls"))
      const notes = sql<{ note: string }>`SELECT note FROM journal WHERE revision > 1 ORDER BY revision`
      const stored = "taken; calls : mtn send 200 in 3.1 (wait 1)"
      expect([(yield* notes).map(({ note }) => note), yield* found]).toStrictEqual([[stored, stored], []])
      yield* sql`UPDATE journal SET note = ${`taken; ${forged}`} WHERE revision = 2`
      expect(yield* found).toStrictEqual(["history_is_as_written"])
    }).pipe(Effect.scoped)
  )

  it.live("keeps what providers called it before, and finds a reference that no step wrote", () =>
    Effect.gen(function* () {
      const { found, sql, step } = yield* givenPayout
      yield* step(accepted("P1"))
      yield* step(accepted("P2"))
      expect([yield* sql`SELECT 1 FROM provider_references`, yield* found]).toMatchObject([{ length: 2 }, []])
      yield* sql`INSERT INTO provider_references SELECT provider, mode, 'P3', app_id, reference FROM transactions`
      expect(yield* found).toStrictEqual(["provider_references_were_written"])
    }).pipe(Effect.scoped)
  )
})

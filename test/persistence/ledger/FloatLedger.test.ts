import { it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { describe, expect } from "vitest"
import type { Fact } from "../../../src/domain/Fact.ts"
import { AppId } from "../../../src/domain/Ids.ts"
import type { Posting } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import { openStatement } from "../../../src/persistence/ledger/OpenSteps.ts"
import { FloatLedger, type OpenStep } from "../../../src/services/ports/FloatLedger.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { floatRounds } from "../../support/FloatRounds.ts"
import { foldedPosition } from "../../support/FoldedPosition.ts"
import { appId, applyStep, given, givenTenantWith, openStep, position, succeeded } from "../../support/LedgerSteps.ts"
import { waitsForLock } from "../../support/LockWaits.ts"
import { claimKey, givenClaim } from "../../support/PaymentRequests.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { givenLedger } from "../../support/TestLedger.ts"

const untraced = (step: OpenStep) => ({ ...step, traceparent: null })

describe("FloatLedger", () => {
  it.live("lets exactly k of 64 concurrent payouts through on float for k, each k from 0 to 64, from two nodes", () =>
    Effect.scoped(floatRounds(65))
  )

  it.live("opens a batch with the same result as its steps one after another", () =>
    Effect.gen(function* () {
      const { node } = yield* given(1n)
      const sql = yield* SqlClient.SqlClient.pipe(Effect.provideContext(node))
      const runs = fc.sample(
        fc.record({
          float: fc.bigInt({ min: 0n, max: 300n }),
          amounts: fc.array(fc.bigInt({ min: 1n, max: 120n }), { minLength: 1, maxLength: 12 })
        }),
        60
      )
      for (const [run, { amounts, float }] of runs.entries()) {
        const tenant = AppId.make(`batch-${run}`)
        yield* Effect.provideContext(givenTenantWith(tenant, float), node)
        const claims = yield* Effect.forEach(amounts, (_amount, index) =>
          Effect.provideContext(givenClaim(tenant, `${index}`), node)
        )
        const steps = claims.map((claim, index) => openStep(claim, amounts[index] ?? 0n, 0n))
        const rows = yield* sql.unsafe<{ verdict: string; reservable: bigint }>(...openStatement(steps.map(untraced)))
        let left = float
        const expected = amounts.map((amount) => {
          if (amount > left) return { verdict: "ShortFloat", reservable: left }
          left -= amount
          return { verdict: "Opened" }
        })
        expect(rows).toMatchObject(expected)
      }
    }).pipe(Effect.scoped)
  )

  it.live("opens nothing for a request that slept past its lease", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const ledger = yield* FloatLedger
        const stale = yield* givenClaim(appId, "slept")
        yield* (yield* SqlClient.SqlClient)`UPDATE idempotency_keys SET lease_until = now() - interval '1 second'`
        const fresh = yield* givenClaim(appId, "slept")
        expect(yield* ledger.open(openStep(stale, 10_000n))).toStrictEqual({ _tag: "ClaimLost" })
        expect(yield* ledger.open(openStep(fresh, 10_000n))).toStrictEqual({ _tag: "Opened" })
        expect(yield* ledger.open(openStep(fresh, 10_000n))).toStrictEqual({ _tag: "ClaimLost" })
        expect(yield* position(appId)).toStrictEqual([39_000n, 11_000n])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("opens nothing for a tenant that was frozen meanwhile", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const claim = yield* givenClaim(appId, "frozen")
        yield* (yield* SqlClient.SqlClient)`UPDATE tenants SET status = 'frozen'`
        expect(yield* (yield* FloatLedger).open(openStep(claim, 10_000n))).toStrictEqual({ _tag: "Frozen" })
        expect(yield* position(appId)).toStrictEqual([50_000n, 0n])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("says which window is full, what the float has, and that another charge of the number came first", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const ledger = yield* FloatLedger
        const claim = yield* givenClaim(appId, "refused")
        const window = { appId, mode: "live", subject: "", startsAt: NOON, endsAt: NOON + 3_600_000, amount: 1n } as const
        const counters = [
          { ...window, name: "payout:hour", window: "hour", bound: 5n },
          { ...window, name: "payout:day", window: "day", bound: 0n }
        ] as const
        expect(yield* ledger.open({ ...openStep(claim, 10_000n), counters })).toStrictEqual({ _tag: "OverCap", counter: 1 })
        expect(yield* ledger.open(openStep(claim, 60_000n))).toStrictEqual({ _tag: "ShortFloat", available: 50_000n })
        const step = openStep(claim, 10_000n)
        yield* (yield* SqlClient.SqlClient)`INSERT INTO payer_locks (app_id, mode, party_hash, reference, at)
          VALUES (${appId}, 'live', ${step.partyHash}, 'another charge', now())`
        expect(yield* ledger.open({ ...step, payer: { holder: null } })).toStrictEqual({ _tag: "PayerBusy" })
        expect(yield* position(appId)).toStrictEqual([50_000n, 0n])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("opens a payout that a concurrently committed credit covers", () =>
    Effect.gen(function* () {
      const { node, url } = yield* given(100n)
      const other = yield* givenLedger(url)
      const claim = yield* Effect.provideContext(givenClaim(appId, "credit"), node)
      const credited = yield* Deferred.make<void>()
      const end = yield* Deferred.make<void>()
      const crediting = yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`UPDATE float_positions SET available_minor = available_minor + 1000, credited_minor = credited_minor + 1000`
            yield* Deferred.succeed(credited, undefined)
            yield* Deferred.await(end)
          })
        )
      }).pipe(Effect.provideContext(other), Effect.forkChild)
      yield* Deferred.await(credited)
      const sql = yield* Effect.provideContext(SqlClient.SqlClient, node)
      const opening = yield* sql
        .unsafe<{ verdict: string }>(...openStatement([untraced(openStep(claim, 500n, 10n))]))
        .pipe(Effect.forkChild)
      // It waits for the row: the credit commits only now.
      yield* Effect.provideContext(Effect.flatMap(SqlClient.SqlClient, waitsForLock), other)
      yield* Deferred.succeed(end, undefined)
      yield* Fiber.join(crediting)
      expect((yield* Fiber.join(opening)).map(({ verdict }) => verdict)).toStrictEqual(["Opened"])
      expect(yield* Effect.provideContext(position(appId), node)).toStrictEqual([590n, 510n])
    }).pipe(Effect.scoped)
  )

  it.live("settles once however often the same fact arrives at once, and removes the sealed destination", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const ledger = yield* FloatLedger
        const claim = yield* givenClaim(appId, "settled")
        yield* ledger.open(openStep(claim, 10_000n))
        const step = yield* applyStep(claim, succeeded)
        const results = yield* Effect.forEach(Array.from({ length: 20 }), () => ledger.apply(step), { concurrency: "unbounded" })
        expect(results.filter(({ _tag }) => _tag === "Applied")).toHaveLength(1)
        expect(yield* position(appId)).toStrictEqual([39_000n, 0n])
        const sql = yield* SqlClient.SqlClient
        expect(
          yield* sql`SELECT sealed_destination FROM open_work WHERE app_id = ${appId} AND sealed_destination IS NOT NULL`
        ).toEqual([])
        const replay = yield* claimKey(claim.scope)
        expect(replay).toStrictEqual({ _tag: "Replay", response: { status: 201, body: '{"kept":true}' } })
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("keeps every position equal to the sum of its postings", () =>
    Effect.gen(function* () {
      const { node } = yield* given(500_000n)
      yield* Effect.gen(function* () {
        const ledger = yield* FloatLedger
        const sql = yield* SqlClient.SqlClient
        const facts: ReadonlyArray<Fact> = [
          succeeded,
          { ...succeeded, fee: minor(1_200n) },
          { ...succeeded, fee: minor(10n) },
          { _tag: "Refused", providerReference: null, kind: "other", failure: { code: "unknown", message: "" }, note: "" }
        ]
        yield* Effect.forEach(
          Array.from({ length: 40 }, (_, index) => index),
          (index) =>
            Effect.gen(function* () {
              const claim = yield* givenClaim(appId, `fold-${index}`)
              yield* ledger.open(openStep(claim, BigInt(index + 1)))
              const fact = facts[index % 5]
              if (fact !== undefined) yield* ledger.apply(yield* applyStep(claim, fact))
            }),
          { concurrency: "unbounded" }
        )
        const postings =
          yield* sql<Posting>`SELECT currency, account, amount_minor AS amount FROM postings WHERE app_id = ${appId}`
        expect(yield* ledger.positions(appId, "live")).toStrictEqual([foldedPosition("UGX", postings)])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("writes a fact whatever characters are in the provider's text", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const ledger = yield* FloatLedger
        const claim = yield* givenClaim(appId, "words")
        yield* ledger.open(openStep(claim, 1_000n))
        const step = yield* applyStep(claim, succeeded)
        const told = { ...step, line: { ...step.line, note: 'a\u0000b{"NULL",\\} \u{1F600}' } }
        expect(yield* ledger.apply(told)).toStrictEqual({ _tag: "Applied" })
        const history = yield* (yield* Transactions).history(claim.reference)
        expect(history.at(-1)?.note).toBe('ab{"NULL",\\} \u{1F600}')
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("keeps a record that SQL can query, whatever characters are in the provider's text", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const claim = yield* givenClaim(appId, "nul")
        const ledger = yield* FloatLedger
        expect(yield* ledger.open(openStep(claim, 10_000n))).toEqual({ _tag: "Opened" })
        const fact = { ...succeeded, providerReference: "P\u00001\\u0000" }
        expect(yield* ledger.apply(yield* applyStep(claim, fact))).toEqual({ _tag: "Applied" })
        expect(
          yield* sql`SELECT t.provider_reference, r."providerReference" AS recorded FROM transactions t
            CROSS JOIN LATERAL json_to_record(t.record) AS r("providerReference" text)`
        ).toEqual([{ provider_reference: "P1\\u0000", recorded: "P1\\u0000" }])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})

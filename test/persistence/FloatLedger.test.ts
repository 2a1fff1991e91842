import { it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { describe, expect } from "vitest"
import type { Fact } from "../../src/domain/Fact.ts"
import { AppId } from "../../src/domain/Ids.ts"
import { credit, type Posting, positionOf, reserve } from "../../src/domain/Ledger.ts"
import { add, minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import { openColumns, openStatement } from "../../src/persistence/OpenStatement.ts"
import { FloatLedger, type OpenStep } from "../../src/services/ports/FloatLedger.ts"
import { type Claim, Idempotency } from "../../src/services/ports/Idempotency.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { NOON, payout } from "../support/Given.ts"
import { auditEntry, givenDatabase } from "../support/GivenDatabase.ts"
import { givenClaim, givenFloat, givenLedger } from "../support/GivenMoney.ts"

const appId = AppId.make("acme")
const succeeded: Fact = { _tag: "Succeeded", providerReference: "P1", amount: null, currency: null, fee: null, note: "" }

const openStep = (claim: Claim, principal: bigint, fee = 1_000n): OpenStep => {
  const transaction = payout({
    reference: claim.reference,
    appId: claim.scope.appId,
    principal: minor(principal),
    heldFee: minor(fee),
    fees: minor(fee)
  })
  return {
    claim,
    transaction,
    entry: reserve("UGX", add(transaction.principal, transaction.heldFee)),
    line: { at: NOON, actor: "request", fact: "Opened", note: "", status: "pending" },
    event: null,
    nextAskAt: NOON + 15_000,
    sealedDestination: new Uint8Array([1, 2, 3]),
    partyHash: new Uint8Array(32)
  }
}

const applyStep = Effect.fnUntraced(function* (claim: Claim, fact: Fact) {
  const stored = yield* Effect.fromOption(yield* (yield* Transactions).byReference(claim.reference))
  const { entry, next } = decide(stored.transaction, fact, "callback", NOON)
  return {
    expectedRevision: stored.revision,
    next,
    entry,
    line: { at: NOON, actor: "callback" as const, fact: fact._tag, note: "", status: next.status },
    event: null,
    nextAskAt: null,
    answer: { claim, answer: { status: 201, body: '{"kept":true}' } },
    wipe: true
  }
})

/** A migrated database with one node, and the tenant with that much float. */
const given = Effect.fnUntraced(function* (float: bigint) {
  const url = yield* givenDatabase
  const node = yield* givenLedger(url)
  yield* Effect.provideContext(givenTenantWith(appId, float), node)
  return { url, node }
})

const givenTenantWith = Effect.fnUntraced(function* (tenant: AppId, float: bigint) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO tenants (app_id, status, capabilities, created_at) VALUES (${tenant}, 'active', '{payouts}', now())`
  if (float > 0n) yield* givenFloat(tenant, float)
})

const openOne = Effect.fnUntraced(function* (tenant: AppId, key: string, principal: bigint) {
  const claim = yield* givenClaim(tenant, key)
  return yield* (yield* FloatLedger).open(openStep(claim, principal))
})

const position = Effect.fnUntraced(function* (tenant: AppId) {
  const [found] = yield* (yield* FloatLedger).positions(tenant, "live")
  return [found?.available, found?.reserved]
})

/** The database commits the first money step, and its answer never comes. */
const losesOneAnswer = (sql: SqlClient.SqlClient): SqlClient.SqlClient => {
  let lost = false
  return new Proxy(sql, {
    get: (target, name, receiver) =>
      name === "unsafe"
        ? (text: string, parameters: ReadonlyArray<unknown>) =>
            Effect.flatMap(target.unsafe(text, parameters), (rows) => {
              const answer = lost ? Effect.succeed(rows) : Effect.die(new Error("the connection broke during COMMIT"))
              lost = true
              return answer
            })
        : Reflect.get(target, name, receiver)
  })
}

describe("FloatLedger", () => {
  it.live(
    "lets exactly k of 64 concurrent payouts through on float for k, 200 rounds, from two nodes",
    () =>
      Effect.gen(function* () {
        const { node, url } = yield* given(1n)
        const nodes = [node, yield* givenLedger(url)] as const
        for (let round = 0; round < 200; round++) {
          const k = round % 65
          const tenant = AppId.make(`round-${round}`)
          yield* Effect.provideContext(givenTenantWith(tenant, k === 0 ? 0n : BigInt(k) * 11_000n + 10_999n), node)
          const results = yield* Effect.forEach(
            Array.from({ length: 64 }, (_, index) => index),
            (index) => Effect.provideContext(openOne(tenant, `key-${index}`, 10_000n), nodes[index % 2 === 0 ? 0 : 1]),
            { concurrency: "unbounded" }
          )
          expect(results.filter(({ _tag }) => _tag === "Opened")).toHaveLength(k)
          expect(results.filter(({ _tag }) => _tag === "ShortFloat")).toHaveLength(64 - k)
        }
      }).pipe(Effect.scoped),
    120_000
  )

  it.live("opens a batch as if its steps had come one after another", () =>
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
        const rows = yield* sql.unsafe<{ verdict: string; available: bigint }>(openStatement, [
          JSON.stringify(steps.map(openColumns))
        ])
        let left = float
        const expected = amounts.map((amount) => {
          const before = left
          if (amount > left) return { verdict: "ShortFloat", available: before }
          left -= amount
          return { verdict: "Opened", available: before }
        })
        expect(rows.map(({ available, verdict }) => ({ verdict, available }))).toStrictEqual(expected)
      }
    }).pipe(Effect.scoped)
  )

  it.live("opens nothing for a claimant that overslept its lease", () =>
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

  it.live("knows its own step again when the answer to its commit was lost, and opens its neighbours", () =>
    Effect.gen(function* () {
      const { node, url } = yield* given(50_000n)
      const losing = yield* givenLedger(url, losesOneAnswer)
      const results = yield* Effect.forEach(
        [10_000n, 20_000n, 30_000n],
        (principal) => Effect.provideContext(openOne(appId, `lost-${principal}`, principal), losing),
        { concurrency: "unbounded" }
      )
      expect(results.map(({ _tag }) => _tag)).toStrictEqual(["Opened", "Opened", "ShortFloat"])
      expect(yield* Effect.provideContext(position(appId), node)).toStrictEqual([18_000n, 32_000n])
    }).pipe(Effect.scoped)
  )

  it.live("settles once however many bring the same news at once, and wipes the destination", () =>
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
        expect(yield* (yield* Transactions).sealedDestination(claim.reference)).toMatchObject({ _tag: "None" })
        const replay = yield* (yield* Idempotency).claim(claim.scope, new Uint8Array(32))
        expect(replay).toStrictEqual({ _tag: "Replay", answer: { status: 201, body: '{"kept":true}' } })
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("keeps every position equal to the fold of its postings", () =>
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
        expect(yield* ledger.positions(appId, "live")).toStrictEqual([positionOf("UGX", postings)])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("posts an adjustment once per external id and answers its first result again", () =>
    Effect.gen(function* () {
      const { node } = yield* given(0n)
      yield* Effect.gen(function* () {
        const ledger = yield* FloatLedger
        const adjustment = {
          appId,
          mode: "live",
          currency: "UGX",
          direction: "credit",
          amount: minor(700n),
          externalId: "bank-1",
          note: "",
          at: NOON,
          entry: credit("UGX", minor(700n)),
          audit: auditEntry()
        } as const
        const first = yield* ledger.adjust(adjustment)
        yield* givenFloat(appId, 50n)
        expect(yield* ledger.adjust(adjustment)).toStrictEqual(first)
        expect(yield* ledger.adjust({ ...adjustment, amount: minor(701n) })).toStrictEqual({ _tag: "Conflict" })
        expect(yield* ledger.adjust({ ...adjustment, appId: AppId.make("nobody") })).toStrictEqual({ _tag: "NoTenant" })
        const debit = { ...adjustment, direction: "debit", externalId: "bank-2", amount: minor(751n) } as const
        expect(yield* ledger.adjust(debit)).toStrictEqual({ _tag: "ShortFloat", available: 750n })
        expect(yield* position(appId)).toStrictEqual([750n, 0n])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})

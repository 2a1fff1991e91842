import { expect, it } from "@effect/vitest"
import { Context, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { correct, credit, type Entry } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { WindowUse } from "../../../src/domain/VelocityLimits.ts"
import { type ApplyStep, FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { appId, applyStep, given, openStep, succeeded } from "../../support/LedgerSteps.ts"
import { waitsForLock } from "../../support/LockWaits.ts"
import { givenClaim } from "../../support/PaymentRequests.ts"
import { facts } from "../../support/SampleFacts.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { auditEntry } from "../../support/TestDatabase.ts"
import { givenLedger } from "../../support/TestLedger.ts"

/** A payout of UGX 10,000 that succeeded for a fee of 1,000, and UGX 200 that are left. */
const givenPaid = Effect.gen(function* () {
  const { node, url } = yield* given(11_200n)
  const sql = Context.get(node, SqlClient.SqlClient)
  const ledger = Context.get(node, FloatLedger)
  const claim = yield* Effect.provideContext(givenClaim(appId, "key"), node)
  yield* ledger.open(openStep(claim, 10_000n))
  yield* ledger.apply(yield* Effect.provideContext(applyStep(claim, succeeded), node))
  /** What a person's word commits, decided against the record as it is now. */
  const resolution = (entry: Entry | null) =>
    Effect.gen(function* () {
      const step = yield* applyStep(claim, succeeded)
      const stored = yield* Effect.fromOption(yield* (yield* Transactions).byReference(claim.reference))
      const next = { ...step.next, version: stored.transaction.version + 1 }
      const line = { ...step.line, actor: "operator" as const, fact: "Resolved" }
      return { ...step, next, entry, line, response: null, wipeDestination: false }
    }).pipe(Effect.provideContext(node))
  const resolve = (entry: Entry | null) => Effect.flatMap(resolution(entry), (step) => ledger.resolve(step, auditEntry()))
  const position = Effect.map(ledger.positions(appId, "live"), ([ugx]) => ugx)
  const audited = Effect.map(
    sql<{ details: string }>`SELECT details FROM audit_log WHERE details LIKE '%"resolved"%' ORDER BY sequence`,
    (rows) => rows.map(({ details }) => JSON.parse(details))
  )
  return { audited, claim, ledger, node, position, resolution, resolve, sql, url }
})

it.live("a correction takes what is available, and the rest becomes a receivable that the next credit covers first", () =>
  Effect.gen(function* () {
    const { audited, claim, ledger, position, resolve } = yield* givenPaid
    expect(yield* resolve(correct("UGX", { paidOut: 500n, fees: 0n }))).toStrictEqual({ _tag: "Applied" })
    expect(yield* position).toMatchObject({ available: 0n, receivable: 300n, owed: 300n, paidOut: 10_500n })
    expect(yield* audited).toStrictEqual([
      {
        ...auditEntry().details,
        resolved: claim.reference,
        slot: "correction",
        postings: "UGX available -200; UGX paid_out 500; UGX receivable -300"
      }
    ])
    const adjustment = {
      appId,
      mode: "live",
      currency: "UGX",
      direction: "credit",
      note: "",
      at: NOON,
      audit: auditEntry()
    } as const
    const money = (amount: bigint) => ({ amount: minor(amount), entry: credit("UGX", minor(amount)) })
    expect(yield* ledger.adjust({ ...adjustment, ...money(100n), externalId: "first" })).toMatchObject({
      position: { available: 0n, receivable: 200n }
    })
    expect(yield* ledger.adjust({ ...adjustment, ...money(900n), externalId: "second" })).toMatchObject({
      position: { available: 700n }
    })
    expect(yield* position).toStrictEqual({
      currency: "UGX",
      available: 700n,
      reserved: 0n,
      collected: 0n,
      paidOut: 10_500n,
      providerFees: 1_000n,
      credited: 12_200n,
      debited: 0n,
      fxIn: 0n,
      fxOut: 0n,
      returned: 0n,
      owed: 0n
    })
  }).pipe(Effect.scoped)
)

it.live(
  "a case is corrected once, what was decided against an older record is not audited, and each later case has its own slot",
  () =>
    Effect.gen(function* () {
      const { audited, ledger, position, resolution, resolve, sql } = yield* givenPaid
      const entry = correct("UGX", { paidOut: 50n, fees: 0n })
      const [early, late] = [yield* resolution(entry), yield* resolution(null)]
      expect(yield* ledger.resolve(early, auditEntry())).toStrictEqual({ _tag: "Applied" })
      expect(yield* ledger.resolve(late, auditEntry())).toStrictEqual({ _tag: "Stale" })
      expect(yield* ledger.resolve(early, auditEntry())).toStrictEqual({ _tag: "Stale" })
      expect(yield* audited).toHaveLength(1)
      expect(yield* position).toMatchObject({ available: 150n, paidOut: 10_050n })
      const back = correct("UGX", { paidOut: -50n, fees: 0n })
      const both = Effect.all(
        [yield* resolution(back), yield* resolution(back)].map((step) => ledger.resolve(step, auditEntry())),
        {
          concurrency: 2
        }
      )
      expect((yield* both).map(({ _tag }) => _tag).sort()).toStrictEqual(["Applied", "Stale"])
      expect(yield* resolve(entry)).toStrictEqual({ _tag: "Applied" })
      expect((yield* audited).map(({ slot }) => slot)).toStrictEqual(["correction", "correction-2", "correction-3"])
      expect(yield* sql`SELECT slots FROM transactions WHERE app_id = ${appId}`).toStrictEqual([
        { slots: ["open", "close", "correction", "correction-2", "correction-3"] }
      ])
      expect(yield* position).toMatchObject({ available: 150n, paidOut: 10_050n })
    }).pipe(Effect.scoped)
)

const window = (name: string, startsAt: number, change: Partial<WindowUse> = {}): WindowUse => ({
  appId,
  mode: "live",
  name,
  subject: "",
  startsAt,
  endsAt: startsAt + 3_600_000,
  amount: 1n,
  bound: 100_000n,
  window: "hour",
  ...change
})

it.live("a failed payout that was paid after all counts again once, beyond a bound too, in the windows that have not ended", () =>
  Effect.gen(function* () {
    const { node } = yield* given(50_000n)
    const sql = Context.get(node, SqlClient.SqlClient)
    const ledger = Context.get(node, FloatLedger)
    const claim = yield* Effect.provideContext(givenClaim(appId, "key"), node)
    const party = Buffer.alloc(32).toString("hex")
    const counters = [
      window("payout:hour", NOON - 26 * 3_600_000),
      window("payout:day", NOON - 12 * 3_600_000, { bound: 1n }),
      window("payout:destination:UGX", NOON, { subject: party, amount: 10_000n, bound: 10_000n }),
      window("ceiling:eversend:UGX", NOON - 12 * 3_600_000, { appId: "", amount: 11_000n })
    ]
    const used = Effect.map(sql<{ name: string; used: bigint }>`SELECT name, used FROM counters ORDER BY name`, (rows) =>
      rows.map((row) => [row.name, row.used])
    )
    yield* ledger.open({ ...openStep(claim, 10_000n), counters })
    const all = yield* used
    expect(all).toStrictEqual([
      ["ceiling:eversend:UGX", 11_000n],
      ["payout:day", 1n],
      ["payout:destination:UGX", 10_000n],
      ["payout:hour", 1n]
    ])
    const refused = yield* Effect.provideContext(applyStep(claim, facts(10_000n).Refused), node)
    yield* ledger.apply(refused)
    expect((yield* used).map(([, amount]) => amount)).toStrictEqual([0n, 0n, 0n, 0n])
    // Another payout takes the place that was given back.
    yield* sql`UPDATE counters SET used = 1 WHERE name = 'payout:day'`
    const entry = correct("UGX", { paidOut: 10_000n, fees: 1_000n })
    const ruled = { ...refused, expectedRevision: refused.expectedRevision + 1n, entry, response: null, restoreLimits: false }
    const step = { ...ruled, countsAgain: true, next: { ...refused.next, status: "successful", version: 3 } } as ApplyStep
    expect(yield* ledger.resolve(step, auditEntry())).toStrictEqual({ _tag: "Applied" })
    expect(yield* ledger.resolve(step, auditEntry())).toStrictEqual({ _tag: "Stale" })
    expect(yield* used).toStrictEqual([
      ["ceiling:eversend:UGX", 11_000n],
      ["payout:day", 2n],
      ["payout:destination:UGX", 10_000n],
      ["payout:hour", 0n]
    ])
  }).pipe(Effect.scoped)
)

it.live("a ruling that moves no money is audited without postings, as often as it is made", () =>
  Effect.gen(function* () {
    const { audited, claim, resolve } = yield* givenPaid
    yield* resolve(correct("UGX", { paidOut: 50n, fees: 0n }))
    expect(yield* resolve(null)).toStrictEqual({ _tag: "Applied" })
    expect((yield* audited).at(-1)).toStrictEqual({ ...auditEntry().details, resolved: claim.reference })
  }).pipe(Effect.scoped)
)

it.live("a correction in two currencies locks its positions in their order, and makes the one that is missing", () =>
  Effect.gen(function* () {
    const { node, position, resolve, sql, url } = yield* givenPaid
    const other = Context.get(yield* givenLedger(url), SqlClient.SqlClient)
    yield* sql`INSERT INTO float_positions (app_id, mode, currency) VALUES (${appId}, 'live', 'KES')`
    const { postings } = correct("KES", { collected: 70n, fees: 0n })
    const entry: Entry = { phase: "correct", postings: [...correct("UGX", { paidOut: 200n, fees: 0n }).postings, ...postings] }
    const resolving = yield* Effect.gen(function* () {
      yield* other`SELECT FROM float_positions WHERE currency = 'KES' FOR UPDATE`
      const resolving = yield* Effect.forkDetach(resolve(entry))
      yield* waitsForLock(Context.get(node, SqlClient.SqlClient))
      // It has not come to this one yet.
      yield* other`SELECT FROM float_positions WHERE currency = 'UGX' FOR UPDATE NOWAIT`
      return resolving
    }).pipe(other.withTransaction)
    expect(yield* Fiber.join(resolving)).toStrictEqual({ _tag: "Applied" })
    expect(yield* position).toMatchObject({ currency: "KES", available: 70n, collected: 70n })
    const [, ugx] = yield* Context.get(node, FloatLedger).positions(appId, "live")
    expect(ugx).toMatchObject({ currency: "UGX", available: 0n, paidOut: 10_200n })
  }).pipe(Effect.scoped)
)

import { it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import type { Fact } from "../../src/domain/Fact.ts"
import { AppId, type Reference } from "../../src/domain/Ids.ts"
import { credit, debit, reserve } from "../../src/domain/Ledger.ts"
import { add, minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import { FloatLedger, type OpenStep } from "../../src/services/ports/FloatLedger.ts"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import { LedgerAudit } from "../../src/services/ports/LedgerAudit.ts"
import { LedgerAuditPg } from "../../src/persistence/LedgerAuditPg.ts"
import { Policy } from "../../src/services/ports/Policy.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { Settlement } from "../../src/services/Settlement.ts"
import { Reconciler } from "../../src/services/Reconciler.ts"
import { NOON, payout, collection } from "../support/Given.ts"
import { auditEntry, givenDatabase } from "../support/GivenDatabase.ts"
import { givenFloat, givenLedger, policy } from "../support/GivenMoney.ts"

const show = (what: string, value: unknown) => console.log(what, JSON.stringify(value, (_, v) => typeof v === "bigint" ? v.toString() : v)?.slice(0, 1500))
const tenants = ["a", "b", "c", "d"].map((name) => AppId.make(name))
const pick = <A>(of: ReadonlyArray<A>): A => of[Math.floor(Math.random() * of.length)] as A
let n = 0
const claimOf = (appId: AppId, endpoint: string) => Effect.gen(function* () {
  const c = yield* (yield* Idempotency).claim({ appId, mode: "live", endpoint, key: `k${Math.random()}` }, new Uint8Array(32))
  return c._tag === "Fresh" ? c.claim : yield* Effect.die("no")
})
const openPayout = (appId: AppId, amount = 100n) => Effect.gen(function* () {
  const claim = yield* claimOf(appId, "POST /v1/payouts")
  const t = payout({ reference: claim.reference, appId, principal: minor(amount), amount: minor(amount), heldFee: minor(10n), fees: minor(10n) })
  const step: OpenStep = { claim, transaction: t, entry: reserve("UGX", add(t.principal, t.heldFee)), line: { at: NOON, actor: "request", fact: "Opened", note: "", status: "pending" },
    event: { id: claim.reference, appId, mode: "live", type: "payout.pending", reference: claim.reference, at: NOON, body: "{}" }, nextAskAt: NOON, sealedDestination: new Uint8Array([1]), partyHash: new Uint8Array(32) }
  const r = yield* (yield* FloatLedger).open(step)
  return { claim, r }
})
const openCollection = (appId: AppId) => Effect.gen(function* () {
  const claim = yield* claimOf(appId, "POST /v1/collections")
  const currency = pick(["UGX", "KES", "RWF", "GHS", "NGN"] as const)
  const t = collection({ reference: claim.reference, appId, amount: minor(1000n), amountCurrency: currency, currency })
  const r = yield* (yield* FloatLedger).open({ claim, transaction: t, entry: null, line: { at: NOON, actor: "request", fact: "Opened", note: "", status: "pending" }, event: null, nextAskAt: NOON, sealedDestination: null, partyHash: new Uint8Array(32) })
  return { claim, r }
})
const applyFact = (reference: Reference, fact: Fact, claim?: never) => Effect.gen(function* () {
  for (let i = 0; i < 16; i++) {
    const stored = Option.getOrThrow(yield* (yield* Transactions).byReference(reference))
    const { entry, next, event } = decide(stored.transaction, fact, "callback", NOON)
    const r = yield* (yield* FloatLedger).apply({ expectedRevision: stored.revision, next, entry, line: { at: NOON, actor: "callback", fact: fact._tag, note: "", status: next.status },
      event: event === null ? null : { id: (`E${n++}`) as never, appId: next.appId, mode: "live", type: event, reference, at: NOON, body: "{}" }, nextAskAt: NOON, answer: claim === undefined ? null : { claim, answer: { status: 201, body: "x" } }, wipe: true })
    if (r._tag === "Applied") return next.status
  }
  return "kept moving"
})
const succeeded: Fact = { _tag: "Succeeded", providerReference: "P", amount: null, currency: null, fee: minor(5n), note: "" }
const refused: Fact = { _tag: "Refused", providerReference: null, kind: "party", failure: { code: "unknown", message: "" }, note: "" }

describe("concurrency", () => {
  it.live("two nodes, everything at once: no deadlock, the ledger adds up", () => Effect.gen(function* () {
    const url = yield* givenDatabase
    const nodes = [yield* givenLedger(url), yield* givenLedger(url)]
    const failures: Array<string> = []
    let opened = 0
    for (const appId of tenants) yield* Effect.provideContext(Effect.gen(function* () {
      yield* (yield* SqlClient.SqlClient)`INSERT INTO tenants VALUES (${appId}, 'active', '{payouts}', now())`
      yield* givenFloat(appId, 20_000n)
    }), nodes[0]!)
    const one = Effect.gen(function* () {
      const dice = Math.random()
      const appId = pick(tenants)
      const sql = yield* SqlClient.SqlClient
      if (dice < 0.05) return yield* (yield* Transactions).claimDue(NOON + 1, 20, -1)
      if (dice < 0.10) return yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
        yield* sql`UPDATE tenants SET status = 'frozen' WHERE app_id = ${appId}`
        yield* sql`SELECT append_audit(now(), 'x', 'freeze', ${appId}, '{}')`
        yield* sql`UPDATE tenants SET status = 'active' WHERE app_id = ${appId}`
      })))
      if (dice < 0.2) return yield* (yield* FloatLedger).adjust({ appId, mode: "live", currency: "UGX", direction: dice < 0.15 ? "credit" : "debit", amount: minor(200n), externalId: `x${Math.random()}`, note: "", at: NOON,
        entry: dice < 0.15 ? credit("UGX", minor(200n)) : debit("UGX", minor(200n)), audit: auditEntry() })
      const made = yield* (dice < 0.4 ? openCollection(appId) : openPayout(appId, BigInt(100 + Math.floor(Math.random() * 900))))
      if (made.r._tag !== "Opened") return made.r._tag
      opened++
      const { reference } = made.claim
      const facts: ReadonlyArray<Fact> = [succeeded, refused, { _tag: "StillPending", providerReference: "Q", note: "" }, succeeded, { _tag: "Accepted", providerReference: "Q", observedAmount: null, observedCurrency: null, note: "" }]
      yield* Effect.forEach(facts, (fact, i) => Effect.provideContext(applyFact(reference, fact, (i === 4 ? made.claim : undefined) as never), nodes[i % 2]!), { concurrency: "unbounded" })
    })
    const guarded = Effect.flatMap(Effect.exit(Effect.suspend(() => Effect.provideContext(one, pick(nodes)!))), (exit) => Effect.sync(() => { if (Exit.isFailure(exit)) failures.push(JSON.stringify(exit.cause).slice(0, 600)) }))
    yield* Effect.forEach(Array.from({ length: 4000 }), () => guarded, { concurrency: 96, discard: true })
    yield* Effect.provideContext(Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      show("deadlocks", yield* sql`SELECT deadlocks, xact_rollback FROM pg_stat_database WHERE datname = current_database()`)
      show("counts", yield* sql`SELECT kind, status, count(*) FROM transactions GROUP BY 1,2`)
      show("keys", yield* sql`SELECT state, count(*) FROM idempotency_keys GROUP BY 1`)
      show("open without done", yield* sql`SELECT count(*) FROM idempotency_keys k JOIN transactions t USING (reference) WHERE k.state <> 'done'`)
    }), nodes[0]!)
    show("opened", opened); show("failures", [failures.length, failures[0]])
    const audit = yield* Layer.build(Layer.fresh(LedgerAuditPg)).pipe(Effect.provideContext(nodes[0]!))
    const report = yield* Context.get(audit, LedgerAudit).verify
    show("ledger", { ok: report.ok, differences: report.differences.slice(0, 5) })
    expect(failures.length).toBe(0)
    expect(report.ok).toBe(true)
  }).pipe(Effect.scoped), 120_000)

  it.live("T9 one tenant's locked position holds up another tenant's payout", () => Effect.gen(function* () {
    const url = yield* givenDatabase
    const node = yield* givenLedger(url)
    yield* Effect.provideContext(Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const appId of tenants) { yield* sql`INSERT INTO tenants VALUES (${appId}, 'active', '{payouts}', now())`; yield* givenFloat(appId, 20_000n) }
      const a = tenants[0]!, b = tenants[1]!
      // An operator's psql, idle in its transaction.
      const hold = sql.withTransaction(Effect.gen(function* () {
        yield* sql`SET LOCAL idle_in_transaction_session_timeout = 0`
        yield* sql`SELECT 1 FROM float_positions WHERE app_id = ${a} FOR UPDATE`
        yield* Effect.sleep(40_000)
      }))
      yield* Effect.forkScoped(hold)
      yield* Effect.sleep(300)
      const started = Date.now()
      const many = yield* Effect.forkScoped(Effect.forEach([1, 2, 3], () => Effect.exit(openPayout(a)), { concurrency: "unbounded" }))
      yield* Effect.sleep(300)
      const exit = yield* Effect.exit(openPayout(b))
      show("T9 the other tenant waited ms", [Date.now() - started, Exit.isSuccess(exit) ? exit.value.r : exit])
      void many
    }), node)
  }).pipe(Effect.scoped), 90_000)
})

describe("belief", () => {
  const told: Array<Fact> = []
  const run = (transaction: ReturnType<typeof payout>, answer: Fact) => Effect.gen(function* () {
    const provider = { name: "p", mode: "live", promises: { clientReference: "idempotent", lookup: "by_client_ref", webhookAuth: "hmac", quoteTtlMs: 1, notFoundGraceMs: 1 },
      callbacks: { verify: () => Option.none() }, payouts: { ask: () => Effect.succeed(answer) } } as never
    const layer = Reconciler.layer.pipe(Layer.provide(Layer.mergeAll(
      Layer.succeed(ProviderRegistry, { find: () => Option.some(provider) } as never),
      Layer.succeed(Transactions, {} as never), Layer.succeed(Policy, policy),
      Layer.succeed(Settlement, { apply: (_: never, fact: Fact) => { told.push(fact); return Effect.succeed(transaction) } } as never))))
    const r = Context.get(yield* Layer.build(layer), Reconciler)
    yield* r.ask({ transaction, revision: 1n }, "reconciler")
  })
  it.live("T11 a payout that the provider accepted is failed as never sent", () => Effect.gen(function* () {
    yield* run(payout({ providerReference: "BP1", notFound: 2, createdAt: Date.now() - 3_600_000 }), { _tag: "NotFound", note: "" })
    show("T11", told)
    expect(told.some(({ _tag }) => _tag === "NotSent")).toBe(false)
  }).pipe(Effect.scoped))
})

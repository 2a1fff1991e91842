import { it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Option, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { afterEach, describe, expect } from "vitest"
import { AppId } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { json } from "../../src/domain/Json.ts"
import { decide } from "../../src/domain/Moves.ts"
import { Payouts } from "../../src/services/Payouts.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import { Reconciler } from "../../src/services/Reconciler.ts"
import { batched } from "../../src/persistence/StepBatch.ts"
import { chargeOutcome, foundInPage } from "../../src/providers/eversend/Translate.ts"
import { makeBench } from "../providers/EversendBench.ts"
import { answer, chargeAnswer, listAnswer, stub, transaction } from "../providers/EversendStub.ts"
import { chargeOrder, corridor } from "../providers/EversendOrders.ts"
import { collection, payout, NOON } from "../support/Given.ts"
import { givenDatabase } from "../support/GivenDatabase.ts"
import { givenFloat } from "../support/GivenMoney.ts"
import { givenServices, type Interference } from "../support/GivenServices.ts"

const bench = makeBench(afterEach)
const appId = AppId.make("acme")
const caller = { appId, keyId: "k", mode: "live", role: "tenant" } as const
const momo = (number: string) => ({ _tag: "momo", msisdn: Redacted.make(number), network: "MTN", country: "UG" }) as const

const pay = (number: string, key = "the-key", amount = 10_000n) =>
  Effect.gen(function* () {
    const scope = { appId, mode: "live", endpoint: "POST /v1/payouts", key } as const
    const claimed = yield* (yield* Idempotency).claim(scope, new Uint8Array(32))
    if (claimed._tag !== "Fresh") return yield* Effect.die(claimed._tag)
    const command = {
      amount: minor(amount), currency: "UGX", destinationCurrency: "UGX", country: "UG", method: "momo",
      destination: momo(number), amountType: null, deductFeeFromAmount: false, narration: null, metadata: "{}"
    } as const
    return yield* Effect.exit((yield* Payouts).create(caller, command, claimed.claim))
  })
const setup = (float = 100_000n) => Effect.gen(function* () {
  yield* (yield* SqlClient.SqlClient)`INSERT INTO tenants VALUES (${appId}, 'active', '{payouts,collections}', now())`
  yield* givenFloat(appId, float)
})
const row = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return (yield* sql`SELECT status, needs_review, next_ask_at, provider_reference, revision FROM transactions`)[0]
})
const show = (what: string, value: unknown) => console.log(what, JSON.stringify(value, (_, v) => typeof v === "bigint" ? v.toString() : v))

describe("stuck", () => {
  it.effect("T1 provider unregistered at 24h", () => Effect.gen(function* () {
    const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0, duplicates: "accept" }))
    const url = yield* givenDatabase
    const node = yield* givenServices(url, simulator.eversendBaseUrl)
    yield* Effect.gen(function* () {
      yield* setup()
      yield* pay("+256772120010")
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE transactions SET provider='ghost', record = jsonb_set(record::jsonb, '{provider}', '"ghost"')::json`
      yield* TestClock.adjust("25 hours")
      show("round", yield* (yield* Reconciler).round)
      show("T1 row", yield* row)
      yield* TestClock.adjust("25 hours")
      show("round", yield* (yield* Reconciler).round)
      const r = yield* row
      expect(r).toMatchObject({ needs_review: true })
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped), 60000)

  it.effect("T2 died between the answer's apply and Overdue's", () => Effect.gen(function* () {
    const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0, duplicates: "accept" }))
    const url = yield* givenDatabase
    let armed = false
    let applies = 0
    const interfere: Interference = (step, effect) => armed && step === "apply" && ++applies === 2 ? Effect.die("killed") : effect
    const node = yield* givenServices(url, simulator.eversendBaseUrl, interfere)
    yield* Effect.gen(function* () {
      yield* setup()
      yield* pay("+256772120010")
      yield* TestClock.adjust("25 hours")
      armed = true
      yield* (yield* Reconciler).round
      show("T2 row", yield* row)
      armed = false
      for (let day = 0; day < 5; day++) { yield* TestClock.adjust("1 day"); show("round", yield* (yield* Reconciler).round) }
      expect(yield* row).toMatchObject({ needs_review: true })
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped), 60000)
})

describe("batch", () => {
  it.live("T3 a step that cannot be encoded stops the loop", () => Effect.gen(function* () {
    let bad = true
    const run = yield* batched((steps: ReadonlyArray<number>) => { if (steps.includes(13)) throw new Error("cannot encode"); return Effect.succeed(steps) })
    const first = yield* Effect.exit(Effect.timeoutOption(run(13), 500))
    show("T3 bad step", first)
    const next = yield* Effect.timeoutOption(run(1), 1000)
    show("T3 next step", next)
    expect(Option.isSome(next)).toBe(true)
  }).pipe(Effect.scoped))

  it.effect("T4 open committed, its connection lost: the second run says ClaimLost", () => Effect.gen(function* () {
    const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0, duplicates: "accept" }))
    const url = yield* givenDatabase
    const node = yield* givenServices(url, simulator.eversendBaseUrl)
    // the statement itself, as StepBatch runs it twice
    const { openStatement } = yield* Effect.promise(() => import("../../src/persistence/OpenStatement.ts"))
    yield* Effect.gen(function* () {
      yield* setup()
      const real = yield* SqlClient.SqlClient
      let lost = false
      const sql = new Proxy(real, {
        get: (target, name, receiver) => name !== "unsafe" ? Reflect.get(target, name, receiver) :
          (text: string, params: never) => text === openStatement && !lost
            ? Effect.flatMap(target.unsafe(text, params), () => { lost = true; return Effect.die(new Error("connection lost in commit")) })
            : target.unsafe(text, params)
      })
      const { FloatLedgerPg } = yield* Effect.promise(() => import("../../src/persistence/FloatLedgerPg.ts"))
      const ledgerContext = yield* Layer.build(Layer.fresh(FloatLedgerPg)).pipe(Effect.provideService(SqlClient.SqlClient, sql))
      const ledger = Context.get(ledgerContext, FloatLedger)
      const payoutsContext = yield* Layer.build(Layer.fresh(Payouts.layer)).pipe(Effect.provideService(FloatLedger, ledger))
      const exit = yield* Effect.provideContext(pay("+256772123456"), Context.merge(node, payoutsContext))
      show("T4 answer", exit)
      show("T4 row", yield* row)
      show("T4 float", yield* ledger.positions(appId, "live"))
      show("T4 events", yield* real`SELECT type FROM events`)
      show("T4 keys", yield* real`SELECT state, reference FROM idempotency_keys`)
      expect(Exit.isSuccess(exit)).toBe(true)
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped), 60000)
})

describe("translate", () => {
  const answered = (value: unknown) => ({ _tag: "Answered", status: 200, contentType: "application/json", body: json(value) }) as const
  it("T5 returned in another currency is credited", () => {
    const p = payout({ status: "successful", principal: minor(10_000n), amount: minor(10_000n) })
    const order = { reference: p.reference, providerReference: null, currency: "UGX", destinationCurrency: "UGX", sentAt: 0 } as const
    const found = foundInPage("payout", order, answered(listAnswer(transaction(p.reference, { status: "successful", isRefunded: true, currency: "KES", amount: "100.00", fees: "0" }))), 100, 0)
    show("T5", found)
    if (typeof found === "string") throw new Error()
    const d = decide(p, found.fact, "reconciler", NOON)
    show("T5 decision", d.entry)
    expect(d.entry).toBe(null)
  })
  it("T6 a charge that succeeded at once is credited without its fee", () => {
    const order = chargeOrder()
    const found = chargeOutcome(answered(chargeAnswer(order.reference, { status: "successful", amount: "50000", fees: "750" })), order)
    show("T6", found)
    const d = decide(collection({ reference: order.reference }), found.fact, "request", NOON)
    show("T6 entry", d.entry)
    expect(d.entry?.postings.find((x) => x.account === "available")?.amount).toBe(49_250n)
  })
  it("T7 first heard as returned: the real fee is gone", () => {
    const p = payout()
    const order = { reference: p.reference, providerReference: null, currency: "UGX", destinationCurrency: "UGX", sentAt: 0 } as const
    const found = foundInPage("payout", order, answered(listAnswer(transaction(p.reference, { status: "successful", isRefunded: true, amount: "10000", fees: "400" }))), 100, 0)
    show("T7", found)
  })
  it("T17 an echoed redirectUrl becomes a page to pay on", () => {
    const order = { ...chargeOrder(), redirectUrl: "https://shop.example/back" }
    const found = chargeOutcome(answered(chargeAnswer(order.reference, { status: "pending", redirectUrl: "https://shop.example/back" })), order)
    show("T17", found)
    show("T17 decision", decide(collection({ reference: order.reference }), found.fact, "request", NOON).next)
  })
})

describe("quotation", () => {
  it.effect("T8 a refused quotation is answered as retriable", () => Effect.gen(function* () {
    const server = yield* stub({ "POST /payouts/quotation": [answer(400, { code: 400, success: false, message: "x" })] })
    const url = yield* givenDatabase
    const node = yield* givenServices(url, server.baseUrl)
    yield* Effect.provideContext(Effect.gen(function* () {
      yield* setup()
      const exit = yield* pay("+256772123456")
      show("T8", exit)
    }), node)
  }).pipe(Effect.scoped), 60000)

  it.effect("T13 a NUL in the provider's id", () => Effect.gen(function* () {
    const quotation = (amount: string) => ({ code: 200, success: true, data: { token: "t", quotation: { sourceCurrency: "UGX", sourceAmount: amount, destinationCurrency: "UGX", destinationAmount: amount, exchangeRate: "1", totalFees: "1000", totalAmount: "11000", type: "momo", amount } } })
    const evil = (response: import("node:http").ServerResponse, seen: { body: string; line: string }) => {
      const ref = seen.line.startsWith("POST") ? JSON.parse(seen.body).transactionRef : new URL(`http://x${seen.line.split(" ")[1]}`).searchParams.get("search")
      const tx = transaction(ref, { transactionId: "a\u0000b", amount: "10000", status: "pending" })
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ code: 200, success: true, data: seen.line.startsWith("POST") ? { transaction: tx } : { transactions: [tx] } }))
    }
    const server = yield* stub({ "POST /payouts/quotation": [answer(200, quotation("10000"))], "POST /payouts": [evil], "GET /transactions": [evil] })
    const url = yield* givenDatabase
    const node = yield* givenServices(url, server.baseUrl)
    yield* Effect.provideContext(Effect.gen(function* () {
      yield* setup()
      const exit = yield* pay("+256772123456")
      show("T13", exit)
      show("T13 row", yield* row)
      for (let i = 0; i < 4; i++) { yield* TestClock.adjust("25 hours"); show("round", yield* (yield* Reconciler).round) }
      show("T13 row", yield* row)
    }), node)
  }).pipe(Effect.scoped), 60000)
})

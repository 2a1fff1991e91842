import { it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { Reference } from "../../../src/domain/Ids.ts"
import { debit } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import { REFUND_WINDOW, REFUNDABLE_MS } from "../../../src/domain/Refund.ts"
import { applyStatement } from "../../../src/persistence/ledger/FloatLedgerPg.ts"
import { openStatement } from "../../../src/persistence/ledger/OpenSteps.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { everyRow } from "../../support/LedgerRows.ts"
import { appId, applyStep, given, openStep, succeeded } from "../../support/LedgerSteps.ts"
import { waitsForLock } from "../../support/LockWaits.ts"
import { givenClaim } from "../../support/PaymentRequests.ts"
import { facts } from "../../support/SampleFacts.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { auditEntry } from "../../support/TestDatabase.ts"
import { givenLedger } from "../../support/TestLedger.ts"

const traceparent = null
const hour = { name: "payout:hour", subject: "", startsAt: NOON, endsAt: NOON + 3_600_000, window: "hour" } as const
const counter = { ...hour, appId, mode: "live", amount: 1n, bound: 5n } as const

/** A tenant with UGX 10,000, a window that nothing was counted in and a payer that nobody charges; so many claims of it. */
const givenClaims = Effect.fnUntraced(function* (keys: ReadonlyArray<string>) {
  const { node, url } = yield* given(10_000n)
  const sql = Context.get(node, SqlClient.SqlClient)
  yield* sql`INSERT INTO counters (app_id, mode, name, subject, starts_at) VALUES (${appId}, 'live', ${hour.name}, '', to_timestamp(${NOON / 1000}))`
  yield* sql`INSERT INTO payer_locks (app_id, mode, party_hash, at) VALUES (${appId}, 'live', ${new Uint8Array(32)}, now())`
  const claims = yield* Effect.provideContext(
    Effect.forEach(keys, (key) => givenClaim(appId, key)),
    node
  )
  return { claims, node, url }
})

type Node = Effect.Success<ReturnType<typeof givenLedger>>

/** What the statement answers where it begins after another node's change and before its commit. */
const beside = Effect.fnUntraced(function* <Row extends object>(
  { node, url }: Pick<Effect.Success<ReturnType<typeof givenClaims>>, "node" | "url">,
  change: string | ((other: Node) => Effect.Effect<unknown>),
  [text, parameters]: readonly [string, ReadonlyArray<unknown>]
) {
  const sql = Context.get(node, SqlClient.SqlClient)
  const another = yield* givenLedger(url)
  const other = Context.get(another, SqlClient.SqlClient)
  const made = typeof change === "string" ? other.unsafe(change) : change(another)
  const [changed, end] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const changing = yield* other
    .withTransaction(Effect.andThen(made, Effect.andThen(Deferred.succeed(changed, undefined), Deferred.await(end))))
    .pipe(Effect.forkChild)
  yield* Deferred.await(changed)
  const stepping = yield* Effect.forkChild(sql.unsafe<Row>(text, parameters))
  yield* Effect.race(waitsForLock(other), Fiber.await(stepping))
  yield* Deferred.succeed(end, undefined)
  yield* Fiber.join(changing)
  return yield* Fiber.join(stepping)
})

const changes: ReadonlyArray<readonly [what: string, change: string, verdict: string]> = [
  ["its key", "UPDATE idempotency_keys SET fence = fence + 1000", "ClaimLost"],
  ["its tenant", "UPDATE tenants SET status = 'frozen'", "Frozen"],
  ["the payer that it charges", "UPDATE payer_locks SET reference = 'another charge'", "PayerBusy"],
  ["a window that it is counted in", "UPDATE counters SET used = 5", "OverCap"],
  [
    "the float that it reserves",
    "UPDATE float_positions SET available_minor = available_minor - 9000, debited_minor = debited_minor + 9000",
    "ShortFloat"
  ]
]

/** A parameter of the statement, and the number in it that becomes NULL. */
const unknowns: ReadonlyArray<
  readonly [how: string, keys: ReadonlyArray<string>, what: string, parameter: RegExp, number: number, verdict: string]
> = [
  ["alone", ["one"], "the bound of a window", /(p_window_bound) => (\$\d+)/u, 5, "OverCap"],
  ["of a batch", ["one", "two"], "the bound of a window", /(p_need_bound) => (\$\d+)/u, 5, "OverCap"],
  ["of a batch", ["one", "two"], "its tenant", /(p_tenant) => (\$\d+)/u, 1, "Frozen"]
]

describe("a money step", () => {
  for (const [how, keys] of [
    ["alone", ["one"]],
    ["of a batch", ["one", "two"]]
  ] as const) {
    for (const [what, change, verdict] of changes)
      it.live(`${how} waits for whoever changes ${what}, and decides by what it finds then`, () =>
        Effect.gen(function* () {
          const { claims, ...nodes } = yield* givenClaims(keys)
          const steps = claims.map((claim) => ({
            ...openStep(claim, 1_000n),
            counters: [counter],
            payer: { holder: null },
            traceparent
          }))
          const rows = yield* beside<{ verdict: string }>(nodes, change, openStatement(steps))
          expect(rows.map((row) => row.verdict)).toStrictEqual(keys.map(() => verdict))
        }).pipe(Effect.scoped)
      )

    it.live(`${how} waits for the operator who books its reference by hand, and opens nothing then`, () =>
      Effect.gen(function* () {
        const { claims, ...nodes } = yield* givenClaims(keys)
        const [booked, ...others] = claims
        const booking = (other: Node) =>
          Context.get(other, FloatLedger).adjust({
            appId,
            mode: "live",
            currency: "UGX",
            direction: "debit",
            amount: minor(1_000n),
            externalId: booked?.reference ?? "",
            note: "the provider's statement",
            at: NOON,
            entry: debit("UGX", minor(1_000n)),
            audit: auditEntry()
          })
        const steps = claims.map((claim) => ({ ...openStep(claim, 1_000n), counters: [counter], traceparent }))
        const rows = yield* beside<{ verdict: string }>(nodes, booking, openStatement(steps))
        expect(rows.map((row) => row.verdict)).toStrictEqual(["ClaimLost", ...others.map(() => "Opened")])
        const sql = Context.get(nodes.node, SqlClient.SqlClient)
        const opened = yield* sql<{ reference: string }>`SELECT reference FROM transactions WHERE app_id = ${appId}`
        expect(opened.map(({ reference }) => reference)).toStrictEqual(others.map(({ reference }) => reference))
        // A node that lost the answer asks again, and nothing is taken for opened.
        const [first] = steps
        if (first !== undefined)
          expect(yield* Context.get(nodes.node, FloatLedger).open(first)).toStrictEqual({ _tag: "ClaimLost" })
      }).pipe(Effect.scoped)
    )

    it.live(`${how} waits for whoever changes its transaction, and is stale then`, () =>
      Effect.gen(function* () {
        const { claims, ...nodes } = yield* givenClaims(keys)
        const ledger = Context.get(nodes.node, FloatLedger)
        yield* Effect.forEach(claims, (claim) => ledger.open(openStep(claim, 1_000n)))
        const steps = yield* Effect.forEach(claims, (claim) => applyStep(claim, succeeded)).pipe(
          Effect.provideContext(nodes.node)
        )
        const statement = applyStatement(steps.map((step) => ({ ...step, traceparent })))
        const rows = yield* beside<{ applied: boolean }>(nodes, "UPDATE transactions SET revision = revision + 1", statement)
        expect(rows.map(({ applied }) => applied)).toStrictEqual(keys.map(() => false))
      }).pipe(Effect.scoped)
    )
  }

  for (const [how, keys, what, parameter, number, verdict] of unknowns)
    it.live(`${how} is refused where ${what} is not known`, () =>
      Effect.gen(function* () {
        const { claims, node } = yield* givenClaims(keys)
        const sql = Context.get(node, SqlClient.SqlClient)
        const steps = claims.map((claim) => ({ ...openStep(claim, 1_000n), counters: [counter], traceparent }))
        const [text, parameters] = openStatement(steps)
        const unknown = text.replace(parameter, `$1 => array_replace($2, ${number}, NULL)`)
        const rows = yield* sql.unsafe<{ verdict: string }>(unknown, parameters)
        expect(rows.map((row) => row.verdict)).toStrictEqual(keys.map(() => verdict))
      }).pipe(Effect.scoped)
    )
})

describe("steps that are counted in the same windows, named in other orders,", () => {
  for (const [how, ours, theirs] of [
    ["each alone", ["one"], ["two"]],
    ["in batches", ["one", "two"], ["three", "four"]],
    ["alone and in a batch", ["one"], ["two", "three"]]
  ] as const)
    it.live(`wait for each other and are opened, ${how}`, () =>
      Effect.gen(function* () {
        const { claims, node, url } = yield* givenClaims([...ours, ...theirs])
        const sql = Context.get(node, SqlClient.SqlClient)
        const other = Context.get(yield* givenLedger(url), SqlClient.SqlClient)
        const third = Context.get(yield* givenLedger(url), SqlClient.SqlClient)
        const counters = ["first", "middle", "last"].map((name) => ({ ...counter, name }))
        for (const { name } of counters)
          yield* sql`INSERT INTO counters (app_id, mode, name, subject, starts_at) VALUES (${appId}, 'live', ${name}, '', to_timestamp(${NOON / 1000}))`
        const statementOf = (chosen: typeof claims, wanted: typeof counters) =>
          openStatement(chosen.map((claim) => ({ ...openStep(claim, 1_000n), counters: wanted, traceparent })))
        const begun = (client: SqlClient.SqlClient, statement: ReturnType<typeof statementOf>, waiting: number) =>
          Effect.gen(function* () {
            const begins = yield* Effect.forkChild(client.unsafe<{ verdict: string }>(...statement))
            yield* Effect.race(waitsForLock(other, waiting), Fiber.await(begins))
            return begins
          })
        // While the window in the middle is held, each statement has what it locks before it, and waits.
        const [held, end] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const holding = yield* other
          .withTransaction(
            Effect.andThen(
              other`UPDATE counters SET used = used WHERE name = 'middle'`,
              Effect.andThen(Deferred.succeed(held, undefined), Deferred.await(end))
            )
          )
          .pipe(Effect.forkChild)
        yield* Deferred.await(held)
        const one = yield* begun(sql, statementOf(claims.slice(0, ours.length), counters), 1)
        const two = yield* begun(third, statementOf(claims.slice(ours.length), counters.toReversed()), 2)
        yield* Deferred.succeed(end, undefined)
        yield* Fiber.join(holding)
        const opened = [...(yield* Fiber.join(one)), ...(yield* Fiber.join(two))]
        expect(opened.map(({ verdict }) => verdict)).toStrictEqual(claims.map(() => "Opened"))
        const used = yield* sql<{ used: string }>`SELECT used::text FROM counters WHERE name <> ${hour.name}`
        expect(used).toStrictEqual(counters.map(() => ({ used: String(claims.length) })))
      }).pipe(Effect.scoped)
    )
})

describe("a ruling on a refund", () => {
  it.live("waits for another refund of its collection that is counted in the same windows, and is applied then", () =>
    Effect.gen(function* () {
      const { claims, node, url } = yield* givenClaims(["ruled", "opened"])
      const [ruled, opened] = claims
      if (ruled === undefined || opened === undefined) return yield* Effect.die(new Error("two claims were made"))
      const [sql, ledger] = [Context.get(node, SqlClient.SqlClient), Context.get(node, FloatLedger)]
      const [another, holder] = [yield* givenLedger(url), Context.get(yield* givenLedger(url), SqlClient.SqlClient)]
      const refundOf = Reference.make("C".repeat(26))
      yield* sql`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
        VALUES (${appId}, ${refundOf}, 'live', 'collection', 'successful', false, 'eversend', 1, '{}', to_timestamp(${NOON / 1000}))`
      const until = NOON + REFUNDABLE_MS
      const fence = { ...counter, name: REFUND_WINDOW, subject: refundOf, startsAt: until, endsAt: until, window: null }
      const refund = (claim: typeof ruled) => {
        const { transaction, ...step } = openStep(claim, 1_000n)
        return { ...step, transaction: { ...transaction, refundOf }, counters: [counter, fence] }
      }
      yield* ledger.open(refund(ruled))
      const released = yield* Effect.provideContext(applyStep(ruled, facts(1_000n).Refused), node)

      const [isHeld, isFree] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const holding = yield* holder`SELECT FROM counters WHERE name = ${hour.name} FOR UPDATE`.pipe(
        Effect.andThen(Deferred.succeed(isHeld, undefined)),
        Effect.andThen(Deferred.await(isFree)),
        holder.withTransaction,
        Effect.forkChild
      )
      yield* Deferred.await(isHeld)
      const statement = openStatement([{ ...refund(opened), traceparent }])
      const opening = yield* Effect.forkChild(Context.get(another, SqlClient.SqlClient).unsafe<{ verdict: string }>(...statement))
      yield* waitsForLock(holder)
      const ruling = yield* Effect.forkChild(ledger.resolve({ ...released, response: null }, auditEntry()))
      yield* waitsForLock(holder, 2)
      yield* Deferred.succeed(isFree, undefined)
      yield* Fiber.join(holding)
      expect((yield* Fiber.join(opening)).map(({ verdict }) => verdict)).toStrictEqual(["Opened"])
      expect(yield* Fiber.join(ruling)).toStrictEqual({ _tag: "Applied" })
    }).pipe(Effect.scoped)
  )
})

describe("a step decided against an older revision", () => {
  for (const [how, keys] of [
    ["alone", ["one"]],
    ["in a batch", ["one", "two"]]
  ] as const)
    it.live(`changes nothing, ${how}`, () =>
      Effect.gen(function* () {
        const { claims, node } = yield* givenClaims(keys)
        const ledger = Context.get(node, FloatLedger)
        const sql = Context.get(node, SqlClient.SqlClient)
        const rows = sql.unsafe(`SELECT name || row::text AS row FROM (${everyRow}) r ORDER BY 1`, [appId])
        yield* Effect.forEach(claims, (claim) => ledger.open(openStep(claim, 1_000n)))
        const steps = yield* Effect.forEach(claims, (claim) => applyStep(claim, succeeded)).pipe(Effect.provideContext(node))
        // Meanwhile something else was noted: the slot of their entries is still free, and so is their place in the history.
        for (const { line, next, ...step } of steps) {
          const noted = { ...step, line: { ...line, at: NOON + 1 }, next: { ...next, status: "pending" as const } }
          expect(yield* ledger.apply({ ...noted, entry: null, response: null })).toStrictEqual({ _tag: "Applied" })
        }
        const before = yield* rows
        const [text, parameters] = applyStatement(steps.map((step) => ({ ...step, traceparent })))
        const answers = yield* sql.unsafe<{ applied: boolean }>(text, parameters)
        expect(answers.map(({ applied }) => applied)).toStrictEqual(keys.map(() => false))
        expect(yield* rows).toStrictEqual(before)
      }).pipe(Effect.scoped)
    )
})

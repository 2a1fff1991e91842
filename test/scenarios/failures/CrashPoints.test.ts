import { it } from "@effect/vitest"
import { Deferred, Effect, Exit, Option, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { afterEach, describe, expect } from "vitest"
import { AppId, type Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { isTerminal } from "../../../src/domain/Payment.ts"
import { Collections } from "../../../src/services/collections/Collections.ts"
import { Payouts } from "../../../src/services/payouts/Payouts.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import type { Idempotency } from "../../../src/services/ports/Idempotency.ts"
import { LedgerVerification } from "../../../src/services/ports/LedgerVerification.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { eventually, makeBench } from "../../simulator/eversend/SimulatorFixture.ts"
import { claimKey, givenFloat } from "../../support/PaymentRequests.ts"
import { givenServices, type Interference } from "../../support/ServicesOnPostgres.ts"
import { givenTenantRow } from "../../support/TenantRow.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const bench = makeBench(afterEach)
const callerOf = (appId: AppId) => ({ appId, keyId: "k", mode: "live", role: "tenant" }) as const
const FLOAT = 100_000n

const momo = (number: string) => ({ _tag: "momo", msisdn: Redacted.make(number), network: "MTN", country: "UG" }) as const

const pay = (number: string) => (appId: AppId) =>
  Effect.gen(function* () {
    const scope = { appId, mode: "live", endpoint: "POST /v1/payouts", key: "the-key" } as const
    const claimed = yield* claimKey(scope)
    if (claimed._tag !== "Fresh") return claimed._tag
    const command = {
      amount: minor(10_000n),
      currency: "UGX",
      destinationCurrency: "UGX",
      country: "UG",
      method: "momo",
      destination: momo(number),
      amountType: null,
      deductFeeFromAmount: false,
      narration: null,
      metadata: "{}"
    } as const
    const result = yield* Effect.exit((yield* Payouts).create(callerOf(appId), command, claimed))
    return Exit.isSuccess(result) ? result.value.status : "refused"
  })

const charge = (number: string) => (appId: AppId) =>
  Effect.gen(function* () {
    const scope = { appId, mode: "live", endpoint: "POST /v1/collections", key: "the-key" } as const
    const claimed = yield* claimKey(scope)
    if (claimed._tag !== "Fresh") return claimed._tag
    const command = {
      amount: minor(50_000n),
      currency: "UGX",
      country: "UG",
      method: "momo",
      source: momo(number),
      redirectUrl: null,
      narration: null,
      metadata: "{}",
      payer: null,
      otp: null
    } as const
    const result = yield* Effect.exit((yield* Collections).create(callerOf(appId), command, claimed))
    return Exit.isSuccess(result) ? result.value.status : "refused"
  })

/** Lets everything happen up to the given crossing of a step's edge, where the process stops for ever. */
const crashing = (at: number, died: Deferred.Deferred<string>): Interference => {
  let edges = 0
  const edge = (name: string) =>
    Effect.suspend(() => (edges++ >= at ? Effect.andThen(Deferred.succeed(died, name), Effect.never) : Effect.void))
  return (step, effect) =>
    edge(`before ${step}`).pipe(
      Effect.andThen(effect),
      Effect.tap(() => edge(`after ${step}`))
    )
}

type Act = (appId: AppId) => Effect.Effect<string, never, Payouts | Collections | Idempotency>

const stories: ReadonlyArray<{ readonly name: string; readonly act: Act }> = [
  { name: "a payout that is delivered", act: pay("+256772123456") },
  { name: "a payout that is refused in the answer", act: pay("+256772120001") },
  { name: "a payout that is accepted and then fails", act: pay("+256772120002") },
  { name: "a payout whose answer is HTTP 500 although it was executed", act: pay("+256772120005") },
  { name: "a collection that is paid", act: charge("+256772123456") },
  { name: "a collection that is declined", act: charge("+256772120002") }
]

/** Two edges each of claim, quote or charge, open, send and apply; the run itself finds out when there are no more. */
const EDGES_AT_MOST = 12

describe("a process killed between any two commits and started again", () => {
  for (const { act, name } of stories) {
    it.effect(
      `${name}: loses nothing and does nothing twice`,
      () =>
        Effect.gen(function* () {
          const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0 }))
          const url = yield* givenDatabase
          const edges: Array<string> = []
          for (let at = 0; at < EDGES_AT_MOST; at++) {
            // Each crash has a tenant of its own; what an earlier one left is still there.
            const appId = AppId.make(`acme-${at}`)
            const died = yield* Deferred.make<string>()
            const first = yield* Scope.make()
            const doomed = yield* givenServices(url, simulator.eversendBaseUrl, crashing(at, died)).pipe(Scope.provide(first))
            yield* Effect.gen(function* () {
              yield* givenTenantRow(yield* SqlClient.SqlClient, appId, ["payouts", "collections"])
              yield* givenFloat(appId, FLOAT)
            }).pipe(Effect.provideContext(doomed))
            const end = yield* Effect.raceFirst(Effect.provideContext(act(appId), doomed), Deferred.await(died))
            edges.push(end)
            const told = yield* Effect.provideContext(eventTypes(appId), doomed)
            yield* Scope.close(first, Exit.void)
            // The first event is in the reservation's own commit.
            if (end.endsWith(" open")) expect(told).toEqual(end.startsWith("before") ? [] : [`${name.split(" ")[1]}.pending`])

            yield* recovered(url, simulator, appId, act(appId))
            if (!end.startsWith("before") && !end.startsWith("after")) break
          }
          expect(yield* verified(url, simulator)).toMatchObject({ ok: true, differences: [] })
          expect(edges).toContain("after open")
          expect(edges).toContain("before apply")
          expect(edges.at(-1)).not.toMatch(/^(before|after)/)
        }).pipe(Effect.scoped),
      600_000
    )
  }
})

const eventTypes = (appId: AppId) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<{ type: string }>`SELECT type FROM events WHERE app_id = ${appId} AND reference IS NOT NULL`, (rows) =>
      rows.map(({ type }) => type)
    )
  )

type Simulator = Awaited<ReturnType<typeof bench.start>>

/** Of all tenants at once: a difference names the tenant, and so the crash. */
const verified = (url: Redacted.Redacted, simulator: Simulator) =>
  Effect.flatMap(givenServices(url, simulator.eversendBaseUrl), (node) =>
    Effect.provideContext(
      Effect.flatMap(LedgerVerification, ({ verify }) => verify),
      node
    )
  )

const recovered = Effect.fnUntraced(function* (url: Redacted.Redacted, simulator: Simulator, appId: AppId, act: ReturnType<Act>) {
  const node = yield* givenServices(url, simulator.eversendBaseUrl)
  yield* Effect.gen(function* () {
    yield* TestClock.adjust("20 minutes")
    const transactions = yield* Transactions
    const sql = yield* SqlClient.SqlClient
    yield* (yield* OutcomePoller).round

    // The tenant repeats its request with the same key: it runs for the first time, or it changes nothing.
    yield* act
    const rows = yield* sql<{ reference: Reference }>`SELECT reference FROM transactions WHERE app_id = ${appId}`
    expect(rows).toHaveLength(1)
    const [reference] = rows.map((row) => row.reference)
    if (reference === undefined) return yield* Effect.die(new Error("unreachable"))
    yield* Effect.promise(() =>
      eventually(
        () => simulator.search(reference),
        (found) => found.every(({ status }) => status !== "pending")
      )
    )
    yield* TestClock.adjust("20 minutes")
    yield* (yield* OutcomePoller).round

    const stored = Option.getOrThrow(yield* transactions.byReference(reference))
    const { status, kind } = stored.transaction
    const executed = (yield* Effect.promise(() => simulator.executions(reference))).length
    const [position] = yield* (yield* FloatLedger).positions(appId, "live")

    expect(executed).toBe(status === "successful" ? 1 : 0)
    if (kind === "payout") {
      // Open means: it died before anything was sent, and nobody can prove that, so its float stays reserved for a person.
      expect(position?.reserved).toBe(isTerminal(stored.transaction) ? 0n : 11_000n)
      expect(position?.available).toBe(status === "failed" ? FLOAT : FLOAT - 11_000n)
    } else {
      expect(position?.available).toBe(status === "successful" ? FLOAT + 49_250n : FLOAT)
    }
  }).pipe(Effect.provideContext(node))
}, Effect.scoped)

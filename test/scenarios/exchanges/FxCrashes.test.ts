import { it } from "@effect/vitest"
import { Deferred, Effect, Exit, Option, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { afterEach, describe, expect } from "vitest"
import { AppId, type Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { Exchanges } from "../../../src/services/exchanges/Exchanges.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { LedgerVerification } from "../../../src/services/ports/LedgerVerification.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { makeBench } from "../../simulator/eversend/SimulatorFixture.ts"
import { claimKey, givenFloat } from "../../support/PaymentRequests.ts"
import { givenServices, type Interference } from "../../support/ServicesOnPostgres.ts"
import { givenTenantRow } from "../../support/TenantRow.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const bench = makeBench(afterEach)
const appId = AppId.make("acme")
const caller = { appId, keyId: "k", mode: "live", role: "tenant" } as const
const FLOAT = 100_000n
const query = { sourceCurrency: "UGX", destinationCurrency: "KES", fixed: "source", amount: minor(50_000n) } as const

const given = Effect.gen(function* () {
  yield* givenTenantRow(yield* SqlClient.SqlClient, appId, ["fx"])
  yield* givenFloat(appId, FLOAT)
})

/** What a repeated request does: the same key with the same quote. */
const exchange = Effect.fnUntraced(function* (quoteId: string) {
  const scope = { appId, mode: "live", endpoint: "POST /v1/fx/exchange", key: "the-key" } as const
  const claimed = yield* claimKey(scope)
  if (claimed._tag !== "Fresh") return claimed._tag
  const made = yield* Effect.exit((yield* Exchanges).create(caller, { quoteId, metadata: "{}" }, claimed.claim))
  return Exit.isSuccess(made) ? made.value.status : "refused"
})

const act = Effect.flatMap(Exchanges, ({ quote }) => Effect.orDie(quote(caller, query))).pipe(
  Effect.flatMap(({ id }) => exchange(id))
)

/** Lets everything happen up to the given edge of a step, where the process stops for ever. */
const crashing = (at: string, died: Deferred.Deferred<string>): Interference => {
  const edge = (name: string) =>
    Effect.suspend(() => (name === at ? Effect.andThen(Deferred.succeed(died, name), Effect.never) : Effect.void))
  return (step, effect) =>
    edge(`before ${step}`).pipe(
      Effect.andThen(effect),
      Effect.tap(() => edge(`after ${step}`))
    )
}

const positionsNow = Effect.flatMap(FloatLedger, ({ positions }) => positions(appId, "live")).pipe(
  Effect.map((all) => Object.fromEntries(all.map(({ available, currency, reserved }) => [currency, [available, reserved]])))
)
const onlyRecord = Effect.gen(function* () {
  const [row] = yield* (yield* SqlClient.SqlClient)<{ reference: Reference }>`SELECT reference FROM transactions`
  if (row === undefined) return Option.none()
  return yield* (yield* Transactions).byReference(row.reference)
})

const nothing = { UGX: [FLOAT, 0n] }
/** It died before anything was sent, and nobody can prove that: its float stays reserved until a person looks. */
const held = { UGX: [50_000n, 50_000n] }
const booked = { KES: [174_324n, 0n], UGX: [50_000n, 0n] }

const crashes = [
  { at: "before claim", status: undefined, float: nothing, executed: 0 },
  { at: "after claim", status: undefined, float: nothing, executed: 0 },
  { at: "before open", status: undefined, float: nothing, executed: 0 },
  { at: "after open", status: "pending", float: held, executed: 0 },
  { at: "before execute", status: "pending", float: held, executed: 0 },
  { at: "after execute", status: "successful", float: booked, executed: 1 },
  { at: "before apply", status: "successful", float: booked, executed: 1 },
  { at: "after apply", status: "successful", float: booked, executed: 1 }
]

describe("a process killed during an exchange and started again", () => {
  it.effect("has these points to die at, and no others", () =>
    Effect.gen(function* () {
      const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0 }))
      const points: Array<string> = []
      const noted: Interference = (step, effect) =>
        Effect.tap(
          Effect.suspend(() => {
            points.push(`before ${step}`)
            return effect
          }),
          () => Effect.sync(() => points.push(`after ${step}`))
        )
      const node = yield* givenServices(yield* givenDatabase, simulator.eversendBaseUrl, noted)
      expect(yield* Effect.provideContext(Effect.andThen(given, act), node)).toBe("successful")
      expect(points).toEqual(crashes.map(({ at }) => at))
    }).pipe(Effect.scoped)
  )

  it.effect.each(crashes)("$at: nothing lost, nothing twice", ({ at, executed, float, status }) =>
    Effect.gen(function* () {
      const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0 }))
      const url = yield* givenDatabase
      const died = yield* Deferred.make<string>()
      const first = yield* Scope.make()
      const doomed = yield* givenServices(url, simulator.eversendBaseUrl, crashing(at, died)).pipe(Scope.provide(first))
      yield* Effect.provideContext(given, doomed)
      expect(yield* Effect.raceFirst(Effect.provideContext(act, doomed), Deferred.await(died))).toBe(at)
      yield* Scope.close(first, Exit.void)

      const node = yield* givenServices(url, simulator.eversendBaseUrl)
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("20 minutes")
        yield* (yield* OutcomePoller).round
        const [quote] = yield* (yield* SqlClient.SqlClient)<{ quote_id: string }>`SELECT quote_id FROM fx_quotes`
        yield* exchange(quote?.quote_id ?? "")
        const record = yield* onlyRecord
        expect(Option.getOrUndefined(record)?.transaction.status).toBe(status)
        expect(yield* positionsNow).toStrictEqual(float)
        expect(yield* Effect.promise(() => simulator.executions())).toHaveLength(executed)
        expect((yield* (yield* LedgerVerification).verify).differences).toStrictEqual([])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect.each([
    { stood: "24 seconds", status: "successful", float: booked, executed: 1 },
    { stood: "26 seconds", status: "failed", float: nothing, executed: 0 }
  ] as const)(
    "executes nothing whose quote ended before it could leave: after $stood it is $status",
    ({ executed, float, status, stood }) =>
      Effect.gen(function* () {
        const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0 }))
        const standingStill: Interference = (step, effect) =>
          step === "open" ? Effect.tap(effect, () => TestClock.adjust(stood)) : effect
        const node = yield* givenServices(yield* givenDatabase, simulator.eversendBaseUrl, standingStill)
        yield* Effect.gen(function* () {
          yield* given
          yield* act
          expect(Option.getOrUndefined(yield* onlyRecord)?.transaction.status).toBe(status)
          expect(yield* positionsNow).toStrictEqual(float)
          expect(yield* Effect.promise(() => simulator.executions())).toHaveLength(executed)
        }).pipe(Effect.provideContext(node))
      }).pipe(Effect.scoped)
  )

  it.effect("ledger verify finds an exchange whose record was changed", () =>
    Effect.gen(function* () {
      const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0 }))
      const node = yield* givenServices(yield* givenDatabase, simulator.eversendBaseUrl)
      yield* Effect.gen(function* () {
        yield* given
        expect(yield* act).toBe("successful")
        const sql = yield* SqlClient.SqlClient
        const broken = Effect.flatMap(LedgerVerification, ({ verify }) =>
          Effect.map(verify, ({ differences }) => differences.map(({ rule }) => rule))
        )
        yield* sql`UPDATE transactions SET record = (record::jsonb || '{"destinationAmount": "174325"}')::json`
        expect(yield* broken).toStrictEqual(["entries_match_the_record", "records_are_as_written"])
        yield* sql`DELETE FROM events WHERE app_id = ANY(SELECT app_id FROM tenants)`
        yield* sql`UPDATE transactions SET record = (record::jsonb || '{"destinationAmount": "174324", "status": "pending"}')::json, status = 'pending'`
        expect(yield* broken).toStrictEqual(expect.arrayContaining(["entries_match_the_status", "closed_records_say_so"]))
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("an exchange of unknown outcome goes to review at the end of the poll schedule", () =>
    Effect.gen(function* () {
      const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0 }))
      const node = yield* givenServices(yield* givenDatabase, simulator.eversendBaseUrl)
      yield* Effect.gen(function* () {
        yield* given
        yield* Effect.promise(() =>
          simulator.control("POST", "/next", { provider: "eversend", operation: "exchange", ending: "0007" })
        )
        expect(yield* act).toBe("refused")
        for (let hour = 0; hour < 26; hour++) {
          yield* TestClock.adjust("1 hour")
          yield* (yield* OutcomePoller).round
        }
        const { transaction } = Option.getOrThrow(yield* onlyRecord)
        expect(transaction).toMatchObject({ kind: "exchange", status: "pending", needsReview: true })
        expect(yield* positionsNow).toStrictEqual(held)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})

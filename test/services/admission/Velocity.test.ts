import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { charge, pay } from "../../support/PaymentRequests.ts"
import { onlyRecord, routedTo } from "../../support/RoutedGateway.ts"
import type { Interference } from "../../support/ServicesOnPostgres.ts"

/** The process stands still over midnight, between claiming the request's key and recording its transaction within the key's lease. */
const standingStill: Interference = (step, effect) =>
  step === "claim" ? Effect.tap(effect, () => TestClock.adjust("1 minute")) : effect

const MIDNIGHT = 24 * 3_600_000

const countsWhereRecorded = Effect.fnUntraced(function* (begin: typeof pay | typeof charge) {
  const { node } = yield* routedTo([fakeProvider("alpha")], standingStill)
  yield* Effect.gen(function* () {
    yield* TestClock.setTime(MIDNIGHT - 30_000)
    expect(yield* begin("one")).toBe("pending")
    expect((yield* onlyRecord).transaction.createdAt).toBeGreaterThanOrEqual(MIDNIGHT)
    const used = yield* (yield* SqlClient.SqlClient)<{ starts: number }>`
      SELECT DISTINCT extract(epoch FROM starts_at)::float8 * 1000 AS starts FROM counters WHERE used > 0`
    // The new day and its first hour begin together; those before it count nothing.
    expect(used.map(({ starts }) => starts)).toEqual([MIDNIGHT])
  }).pipe(Effect.provideContext(node))
}, Effect.scoped)

it.effect("a payout counts in the hour and the day in which it is recorded, not in those in which its key was claimed", () =>
  countsWhereRecorded(pay)
)

it.effect("a charge counts in the hour and the day in which it is recorded, not in those in which its key was claimed", () =>
  countsWhereRecorded(charge)
)

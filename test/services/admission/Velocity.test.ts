import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { charge, pay } from "../../support/PaymentRequests.ts"
import { onlyRecord, routedTo } from "../../support/RoutedGateway.ts"
import type { Interference } from "../../support/ServicesOnPostgres.ts"

/** The process stands still between claiming the request's key and recording its transaction. */
const standingStill: Interference = (step, effect) =>
  step === "claim" ? Effect.tap(effect, () => TestClock.adjust("27 hours")) : effect

const HOUR_MS = 3_600_000

const countsWhereRecorded = Effect.fnUntraced(function* (begin: typeof pay | typeof charge) {
  const { node } = yield* routedTo([fakeProvider("alpha")], standingStill)
  yield* Effect.gen(function* () {
    expect(yield* begin("one")).toBe("pending")
    const { createdAt } = (yield* onlyRecord).transaction
    expect(createdAt).toBeGreaterThanOrEqual(27 * HOUR_MS)
    const used = yield* (yield* SqlClient.SqlClient)<{ starts: number }>`
      SELECT DISTINCT extract(epoch FROM starts_at)::float8 * 1000 AS starts FROM counters WHERE used > 0 ORDER BY starts`
    const startOf = (length: number) => Math.floor(createdAt / length) * length
    expect(used.map(({ starts }) => starts)).toEqual([startOf(24 * HOUR_MS), startOf(HOUR_MS)])
  }).pipe(Effect.provideContext(node))
}, Effect.scoped)

it.effect("a payout counts in the hour and the day in which it is recorded, not in those in which its key was claimed", () =>
  countsWhereRecorded(pay)
)

it.effect("a charge counts in the hour and the day in which it is recorded, not in those in which its key was claimed", () =>
  countsWhereRecorded(charge)
)

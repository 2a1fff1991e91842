import { it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { afterEach, describe, expect } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import { Exchanges } from "../../../src/services/exchanges/Exchanges.ts"
import { makeBench } from "../../simulator/eversend/SimulatorFixture.ts"
import { appId, caller, charge, claimKey, givenFloat, pay } from "../../support/PaymentRequests.ts"
import { givenServices, type Interference } from "../../support/ServicesOnPostgres.ts"
import { givenTenantRow } from "../../support/TenantRow.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const bench = makeBench(afterEach)

/** The process stands still for so long once the key is claimed. */
const pausedFor =
  (paused: "89 seconds" | "91 seconds"): Interference =>
  (step, effect) =>
    step === "claim" ? Effect.tap(effect, () => TestClock.adjust(paused)) : effect

const exchange = Effect.gen(function* () {
  const exchanges = yield* Exchanges
  const claimed = yield* claimKey({ appId, mode: "live", endpoint: "POST /v1/fx/exchange", key: "fx" })
  if (claimed._tag !== "Fresh") return claimed._tag
  const sold = { sourceCurrency: "UGX", destinationCurrency: "KES", fixed: "source", amount: minor(10_000n) } as const
  const { id } = yield* exchanges.quote(caller, sold)
  const work = exchanges.create(caller, { quoteId: id, metadata: "{}" }, claimed.claim)
  return yield* Effect.match(work, { onSuccess: ({ status }) => status, onFailure: ({ _tag }) => _tag })
})

const kinds = [
  { kind: "payout", act: pay("paid"), status: "pending" },
  { kind: "collection", act: charge("charged"), status: "pending" },
  { kind: "exchange", act: exchange, status: "successful" }
] as const

describe("a process that stands still after it claimed a key", () => {
  it.effect.each(kinds)(
    "opens no $kind once the key's lease is over, although nobody else has claimed the key",
    ({ act, status }) =>
      Effect.gen(function* () {
        const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0 }))
        for (const [paused, ended] of [
          ["91 seconds", "request_in_progress"],
          ["89 seconds", status]
        ] as const) {
          const node = yield* givenServices(yield* givenDatabase, simulator.eversendBaseUrl, pausedFor(paused))
          yield* Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            yield* givenTenantRow(sql, appId, ["payouts", "collections", "fx"])
            yield* givenFloat(appId, 100_000n)
            expect(yield* act).toBe(ended)
            const opened = yield* sql`SELECT 1 FROM transactions WHERE app_id = ${appId}`
            expect(opened).toHaveLength(paused === "89 seconds" ? 1 : 0)
          }).pipe(Effect.provideContext(node))
        }
      }).pipe(Effect.scoped)
  )
})

import { it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { PartyHashesPg } from "../../src/persistence/PartyHashesPg.ts"
import { PartyHashes } from "../../src/services/ports/PartyHashes.ts"
import { NOON } from "../support/Given.ts"
import { appId, given, openOne } from "../support/MoneySteps.ts"

const DAY = 24 * 3_600_000

describe("the hash of a number", () => {
  it.live("is dropped after its 90 days, but never while the transaction is open", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { forget } = yield* PartyHashes
        yield* openOne(appId, "old", 1_000n)
        const known = Effect.map(sql`SELECT 1 FROM transactions WHERE party_hash IS NOT NULL`, (rows) => rows.length)
        expect(yield* forget(NOON + DAY, 10)).toBe(0)
        yield* sql`UPDATE transactions SET status = 'successful'`
        expect(yield* forget(NOON - DAY, 10)).toBe(0)
        expect(yield* known).toBe(1)
        expect(yield* forget(NOON + DAY, 10)).toBe(1)
        expect(yield* known).toBe(0)
      }).pipe(Effect.provide(PartyHashesPg.pipe(Layer.fresh)), Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})

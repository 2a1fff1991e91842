import { it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import { appId, given, openOne } from "../support/LedgerSteps.ts"
import { givenClaim } from "../support/PaymentRequests.ts"

const DAY = 24 * 3_600_000

describe("an idempotency key", () => {
  it.live("is removed after its retention, a bounded number at once, and never while its transaction is open", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { prune } = yield* Idempotency
        for (const key of ["a", "b", "c"]) yield* openOne(appId, key, 1_000n)
        yield* sql`UPDATE transactions SET needs_review = true, status = 'successful' WHERE reference =
          (SELECT reference FROM idempotency_keys WHERE key = 'a')`
        const keys = Effect.map(sql<{ key: string }>`SELECT key FROM idempotency_keys ORDER BY key`, (rows) =>
          rows.map(({ key }) => key)
        )
        const [row] = yield* sql<{
          at: number
        }>`SELECT (extract(epoch FROM max(lease_until)) * 1000)::float8 AS at FROM idempotency_keys`
        const later = (row?.at ?? 0) + DAY
        expect(yield* prune(later, 10)).toBe(0)
        yield* sql`UPDATE transactions SET status = 'failed' WHERE NOT needs_review`
        expect(yield* prune(later - 2 * DAY, 10)).toBe(0)
        expect(yield* prune(later, 1)).toBe(1)
        expect(yield* prune(later, 10)).toBe(1)
        expect(yield* keys).toEqual(["a"])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("is kept from the request that made its transaction, not from an earlier one that died", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* givenClaim(appId, "taken over")
        yield* sql`UPDATE idempotency_keys SET created_at = now() - interval '89 days', lease_until = now() - interval '88 days'`
        yield* openOne(appId, "taken over", 1_000n)
        yield* sql`UPDATE transactions SET status = 'failed'`
        yield* sql`UPDATE idempotency_keys SET lease_until = now() - interval '3 days'`
        const { prune } = yield* Idempotency
        expect(yield* prune(Date.now() - 2 * DAY, 10)).toBe(0)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})

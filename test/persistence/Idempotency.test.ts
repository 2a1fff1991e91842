import { it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { AppId } from "../../src/domain/Ids.ts"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import { appId, given, openOne } from "../support/LedgerSteps.ts"
import { claimKey, givenClaim } from "../support/PaymentRequests.ts"

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
        // So that `ledger verify` expects none that is older.
        const kept = yield* sql<{
          at: number
        }>`SELECT (extract(epoch FROM since) * 1000)::float8 AS at FROM kept_since WHERE what = 'keys'`
        expect(kept).toStrictEqual([{ at: later }])
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

  it.live(
    "says to the next request what stands under it: an answer, byte for byte, a transaction, or that somebody is at work",
    () =>
      Effect.gen(function* () {
        const { node } = yield* given(50_000n)
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const { complete, release } = yield* Idempotency
          const expire = sql`UPDATE idempotency_keys SET lease_until = now() - interval '1 second' WHERE state <> 'done'`
          const claim = yield* givenClaim(appId, "answered")
          const again = claimKey(claim.scope)
          expect(yield* again).toStrictEqual({ _tag: "Busy" })
          const response = { status: 403, body: '{"name": "Zo\u00eb"}' }
          expect(yield* complete(claim, response)).toBe(true)
          expect(yield* again).toStrictEqual({ _tag: "Replay", response })
          // Once it is answered it stays so.
          expect([yield* complete(claim, { status: 201, body: "{}" }), yield* release(claim)]).toStrictEqual([false, false])
          expect(yield* again).toStrictEqual({ _tag: "Replay", response })

          yield* openOne(appId, "opened", 1_000n)
          const opened = { ...claim.scope, key: "opened" }
          const [row] = yield* sql<{ reference: string }>`SELECT reference FROM transactions`
          expect(yield* claimKey(opened)).toStrictEqual({ _tag: "Pinned", reference: row?.reference, leased: true })
          yield* expire
          expect(yield* claimKey(opened)).toStrictEqual({ _tag: "Pinned", reference: row?.reference, leased: false })
        }).pipe(Effect.provideContext(node))
      }).pipe(Effect.scoped)
  )

  it.live("is given back by who holds it and by nobody else, and is then as if it had never been used", () =>
    Effect.gen(function* () {
      const { node } = yield* given(0n)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { complete, release } = yield* Idempotency
        const slept = yield* givenClaim(appId, "slept")
        yield* sql`UPDATE idempotency_keys SET lease_until = now() - interval '1 second'`
        const holder = yield* givenClaim(appId, "slept")
        expect(holder.fence).toBeGreaterThan(slept.fence)
        expect([yield* release(slept), yield* complete(slept, { status: 201, body: "{}" })]).toStrictEqual([false, false])
        expect([yield* release(holder), yield* release(holder)]).toStrictEqual([true, false])
        const other = { fingerprint: new Uint8Array(32).fill(1) }
        const fresh = yield* claimKey(holder.scope, [], other.fingerprint)
        expect(fresh).toStrictEqual({
          _tag: "Fresh",
          claim: { scope: holder.scope, fence: expect.any(BigInt), reference: expect.stringMatching(/^[0-9A-Z]{26}$/) },
          tenant: { status: "active", capabilities: ["payouts"] },
          windows: []
        })
        expect(yield* claimKey({ ...holder.scope, appId: AppId.make("nobody") })).toMatchObject({ _tag: "Fresh", tenant: null })
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})

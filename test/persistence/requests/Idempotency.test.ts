import { it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { AppId } from "../../../src/domain/Ids.ts"
import { debit } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import { referenceOfKey } from "../../../src/domain/ReferenceBucket.ts"
import type { IdempotencyScope } from "../../../src/domain/RequestFingerprint.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { Idempotency } from "../../../src/services/ports/Idempotency.ts"
import { referenceHash, Vault } from "../../../src/services/ports/Vault.ts"
import { appId, given, openOne } from "../../support/LedgerSteps.ts"
import { claimKey, givenClaim } from "../../support/PaymentRequests.ts"
import { NOON } from "../../support/SampleTransactions.ts"

const DAY = 24 * 3_600_000

const referenceFor = (scope: IdempotencyScope) =>
  Effect.flatMap(claimKey(scope), (claimed) =>
    claimed._tag === "Fresh" ? Effect.succeed(claimed.claim.reference) : Effect.die(new Error(`the key was ${claimed._tag}`))
  )

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

  it.live("is kept as long after a late outcome as after a request that was answered at once", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { prune } = yield* Idempotency
        yield* openOne(appId, "late", 1_000n)
        const ended = Date.now()
        yield* sql`UPDATE idempotency_keys SET created_at = now() - interval '100 days', lease_until = now() - interval '99 days'`
        yield* sql`UPDATE transactions SET status = 'failed', record = (record::jsonb || jsonb_build_object('completedAt', ${ended}::float8))::json`
        expect(yield* prune(ended - 90 * DAY, 10)).toBe(0)
        expect(yield* prune(ended, 10)).toBe(0)
        expect(yield* prune(ended + 1, 10)).toBe(1)
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
          claim: {
            scope: holder.scope,
            fence: expect.any(BigInt),
            reference: expect.stringMatching(/^[0-9A-Z]{26}$/),
            leaseUntil: expect.any(Number)
          },
          tenant: { status: "active", capabilities: ["payouts"] },
          windows: []
        })
        expect(yield* claimKey({ ...holder.scope, appId: AppId.make("nobody") })).toMatchObject({ _tag: "Fresh", tenant: null })
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("has the reference that a restored database forgot, and another one after each transaction whose key was pruned", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { release } = yield* Idempotency
        const forget = sql`DELETE FROM idempotency_keys WHERE app_id = ${appId}`
        const again = () => givenClaim(appId, "kept")
        const first = yield* again()
        expect(yield* release(first)).toBe(true)
        expect((yield* again()).reference).toBe(first.reference)
        yield* forget
        // One key of another mode, endpoint or name makes another one.
        const others = [
          { ...first.scope, mode: "test" as const },
          { ...first.scope, endpoint: "POST /v1/collections" },
          { ...first.scope, key: "kept " }
        ]
        const made = new Set([first.reference])
        for (const scope of others) made.add(yield* referenceFor(scope))
        expect(made.size).toBe(4)

        const kept: Array<string | undefined> = []
        for (let earlier = 0; earlier < 3; earlier++) {
          yield* openOne(appId, "kept", 1_000n)
          const [row] = yield* sql<{
            reference: string
          }>`SELECT reference FROM idempotency_keys WHERE key = 'kept' AND state = 'pinned'`
          kept.push(row?.reference)
          yield* forget
        }
        // Of one key, a release makes the references that the one before made.
        const hash = referenceHash(yield* Vault)
        expect(kept).toStrictEqual([0, 1, 2].map((earlier) => referenceOfKey(hash, first.scope, earlier)))
        expect(kept[0]).toBe(first.reference)
        // What a restore loses of these, the next claims make again in their order.
        yield* sql`DELETE FROM transactions WHERE app_id = ${appId} AND reference = ${kept[2] ?? ""}`
        expect((yield* again()).reference).toBe(kept[2])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("does not run again where operators booked by its reference what a restore forgot", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { reference, scope } = yield* givenClaim(appId, "booked")
        yield* sql`DELETE FROM idempotency_keys WHERE app_id = ${appId}`
        const entry = debit("UGX", minor(1_000n))
        const booking = {
          appId,
          mode: "live",
          currency: "UGX",
          direction: "debit",
          amount: minor(1_000n),
          note: "forgotten"
        } as const
        const audit = { at: NOON, actor: "operator", action: "float debit", subject: appId, details: {} }
        yield* (yield* FloatLedger).adjust({ ...booking, externalId: reference, at: NOON, entry, audit })
        for (const _ of [1, 2]) expect(yield* claimKey(scope)).toStrictEqual({ _tag: "Booked", reference })
        expect(yield* claimKey({ ...scope, mode: "test" })).toMatchObject({ _tag: "Fresh" })
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})

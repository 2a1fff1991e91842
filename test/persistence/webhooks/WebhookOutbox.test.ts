import { describe, it } from "@effect/vitest"
import { Effect, Logger, Redacted } from "effect"
import { expect } from "vitest"
import { DEFAULT_ENDPOINT } from "../../../src/domain/WebhookEndpoint.ts"
import type { DueDelivery } from "../../../src/services/ports/WebhookOutbox.ts"
import { auditEntry } from "../../support/TestDatabase.ts"
import { attempt, endpoint, givenNodes, givenWaiting, LEASE_MS, leftOf, NOW, put, tenantsOf } from "../../support/TestOutbox.ts"

const ids = (deliveries: ReadonlyArray<DueDelivery>) => deliveries.map(({ id }) => id)

describe("the outbox", () => {
  it.effect("claims events with their stored bytes, oldest first, and none of a disabled endpoint or before they are due", () =>
    Effect.gen(function* () {
      const { endpoints, one, sql } = yield* givenNodes
      yield* put(endpoints, endpoint("acme"))
      yield* put(endpoints, endpoint("off"), false)
      yield* givenWaiting(sql, "acme", 3)
      yield* givenWaiting(sql, "off", 3)
      yield* givenWaiting(sql, "nobody", 3)
      const claimed = yield* one.claimDue(2, 10, 8, LEASE_MS)
      expect(claimed.map(({ body, createdAt }) => [body, createdAt])).toEqual([
        ['{"n":1}', 1],
        ['{"n":2}', 2]
      ])
      const [first] = claimed
      expect(first).toMatchObject({
        eventType: "payout.successful",
        attempts: 0,
        eventId: first?.id,
        endpoint: { appId: "acme", url: "https://acme.example/hook" }
      })
      expect(first === undefined ? "" : Redacted.value(first.endpoint.secret)).toBe("whsec_acme")
    })
  )

  it.effect("gives out the other endpoints' events where the secret of one does not open", () =>
    Effect.gen(function* () {
      const { endpoints, one, sql } = yield* givenNodes
      for (const name of ["acme", "bolt"]) yield* put(endpoints, endpoint(name))
      yield* sql`UPDATE webhook_endpoints SET secret_sealed = overlay(secret_sealed PLACING decode('00000000', 'hex') FROM 20) WHERE app_id = 'acme'`
      yield* givenWaiting(sql, "acme", 2)
      yield* givenWaiting(sql, "bolt", 2)
      expect(tenantsOf(yield* one.claimDue(NOW, 10, 8, LEASE_MS))).toEqual(["bolt", "bolt"])
      const { appId, mode } = endpoint("acme")
      yield* endpoints.rotate({
        appId,
        mode,
        name: DEFAULT_ENDPOINT,
        secret: Redacted.make("whsec_new"),
        at: NOW,
        until: NOW + 1_000_000,
        change: auditEntry()
      })
      const lines: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ message }) => void lines.push(...[message].flat()))])
      const claimed = yield* one.claimDue(NOW + LEASE_MS, 10, 8, LEASE_MS).pipe(Effect.provide(logger))
      const mended = claimed.filter(({ endpoint }) => endpoint.appId === "acme")
      // The damaged secret is the previous one by now: it signs nothing, and is not passed over in silence.
      expect(mended.map(({ endpoint }) => endpoint.previousSecret)).toEqual([undefined, undefined])
      expect(
        lines.filter((line) => String(line).startsWith("the previous secret of a webhook endpoint does not open"))
      ).toHaveLength(1)
    })
  )

  it.effect("gives a delivery to one node, and never more of one endpoint at once than its limit, over all nodes", () =>
    Effect.gen(function* () {
      const { endpoints, one, other, sql } = yield* givenNodes
      for (const name of ["acme", "bolt"]) yield* put(endpoints, endpoint(name))
      yield* givenWaiting(sql, "acme", 50)
      yield* givenWaiting(sql, "bolt", 50)
      const rounds = yield* Effect.all(
        Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other).claimDue(NOW, 5, 8, LEASE_MS)),
        { concurrency: "unbounded" }
      )
      const claimed = rounds.flat()
      expect(new Set(ids(claimed)).size).toBe(claimed.length)
      expect(tenantsOf(claimed).filter((name) => name === "acme")).toHaveLength(8)
      expect(tenantsOf(claimed).filter((name) => name === "bolt")).toHaveLength(8)
      expect(yield* other.claimDue(NOW + LEASE_MS - 1, 50, 8, LEASE_MS)).toEqual([])
      expect(new Set(ids(yield* other.claimDue(NOW + LEASE_MS, 50, 8, LEASE_MS)))).toEqual(new Set(ids(claimed)))
    })
  )

  it.effect("makes no tenant wait behind one with 50,000 events", () =>
    Effect.gen(function* () {
      const { endpoints, one, sql } = yield* givenNodes
      for (const name of ["flood", "small", "tiny"]) yield* put(endpoints, endpoint(name))
      yield* givenWaiting(sql, "flood", 50_000)
      yield* givenWaiting(sql, "small", 2, 60_000)
      yield* givenWaiting(sql, "tiny", 1, 70_000)
      expect(tenantsOf(yield* one.claimDue(NOW, 4, 8, LEASE_MS))).toEqual(["flood", "small", "tiny", "flood"])
      expect(tenantsOf(yield* one.claimDue(NOW, 4, 8, LEASE_MS)).sort()).toEqual(["flood", "flood", "flood", "small"])
    })
  )

  it.effect("attempts again at the given time, keeps every attempt, and ends at delivered or parked", () =>
    Effect.gen(function* () {
      const { endpoints, one, sql } = yield* givenNodes
      yield* put(endpoints, endpoint("acme"))
      yield* givenWaiting(sql, "acme", 2)
      const [first, second] = yield* one.claimDue(NOW, 2, 8, LEASE_MS)
      if (first === undefined || second === undefined) return yield* Effect.die("two were due")
      yield* one.recordAttempt(attempt(first), { _tag: "Again", at: NOW + 5_000 })
      yield* one.recordAttempt(attempt(second), { _tag: "Parked" })
      expect(yield* one.claimDue(NOW + 4_999, 9, 8, LEASE_MS)).toEqual([])
      const [again] = yield* one.claimDue(NOW + 5_000, 9, 8, LEASE_MS)
      expect(again).toMatchObject({ id: first.id, attempts: 1 })
      // Whoever slept past its lease undoes nothing, and is still believed when it delivered.
      yield* one.recordAttempt(attempt(first), { _tag: "Parked" })
      yield* one.recordAttempt({ ...attempt(first), status: null }, { _tag: "Delivered" })
      expect(yield* one.claimDue(NOW + 500_000, 9, 8, LEASE_MS)).toEqual([])
      expect(yield* sql`SELECT status, attempts FROM deliveries ORDER BY created_at`).toEqual([
        { status: "delivered", attempts: 2 },
        { status: "parked", attempts: 1 }
      ])
      expect(yield* leftOf(sql)).toEqual({ due: 0, leased: 0 })
      expect(
        yield* sql`SELECT duration_ms, status, excerpt FROM delivery_attempts WHERE delivery_id = ${first.id} ORDER BY line`
      ).toEqual([
        { duration_ms: 12, status: 500, excerpt: "ohno" },
        { duration_ms: 12, status: null, excerpt: "ohno" }
      ])
    })
  )

  it.effect("returns both secrets after a rotation until the old one ends", () =>
    Effect.gen(function* () {
      const { endpoints, one, sql } = yield* givenNodes
      const { appId, mode } = endpoint("acme")
      yield* put(endpoints, endpoint("acme"))
      yield* givenWaiting(sql, "acme", 3)
      const secrets = Effect.fnUntraced(function* (now: number) {
        const [claimed] = yield* one.claimDue(now, 1, 8, LEASE_MS)
        const { previousSecret, secret } = claimed?.endpoint ?? endpoint("nobody")
        return [secret, ...(previousSecret === undefined ? [] : [previousSecret])].map(Redacted.value)
      })
      expect(yield* secrets(NOW)).toEqual(["whsec_acme"])
      yield* endpoints.rotate({
        appId,
        mode,
        name: DEFAULT_ENDPOINT,
        secret: Redacted.make("whsec_new"),
        until: NOW + 10,
        at: NOW,
        change: auditEntry()
      })
      expect(yield* secrets(NOW + 1)).toEqual(["whsec_new", "whsec_acme"])
      expect(yield* secrets(NOW + 10)).toEqual(["whsec_new"])
    })
  )
})

import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { iso } from "../../../src/domain/Instant.ts"
import { FAILING_MS } from "../../../src/domain/WebhookEndpoint.ts"
import { attemptParameters, recordAttemptSql } from "../../../src/persistence/webhooks/RecordAttemptSql.ts"
import type { AttemptOutcome } from "../../../src/services/ports/WebhookOutbox.ts"
import { attempt, endpoint, givenNodes, givenWaiting, LEASE_MS, leftOf, NOW, put, tenantsOf } from "../../support/TestOutbox.ts"

/** Attempts of one endpoint, as they end, and how it stands afterwards; left out is what it was: enabled, not failing, set at 5. */
interface Story {
  readonly since?: number
  readonly url?: string
  readonly told: ReadonlyArray<{ readonly at: number; readonly verdict: AttemptOutcome }>
  readonly stands: { readonly off?: "gone" | "failing"; readonly failingSince?: number; readonly at?: number }
}
const taken = (at: number) => ({ at, verdict: { _tag: "Delivered" } }) as const
const failed = (at: number) => ({ at, verdict: { _tag: "Parked" } }) as const
const gone = (at: number) => ({ at, verdict: { _tag: "Gone" } }) as const

describe("attempts that end together", () => {
  it.effect("are written by one statement, and one that cannot be written fails alone", () =>
    Effect.gen(function* () {
      const { endpoints, one, sql } = yield* givenNodes
      const names = ["acme", "bolt", "cord"]
      for (const name of names) {
        yield* put(endpoints, endpoint(name))
        yield* givenWaiting(sql, name, 2)
      }
      const claimed = yield* one.claimDue(NOW, 9, 8, LEASE_MS)
      expect(tenantsOf(claimed)).toEqual([...names, ...names])
      const settled = (durationOf: (at: number) => number) =>
        Effect.forEach(
          claimed,
          (delivery, at) =>
            Effect.exit(
              one.recordAttempt({ ...attempt(delivery), durationMs: durationOf(at) }, { _tag: "Again", at: NOW + 5_000 })
            ),
          { concurrency: "unbounded" }
        )
      // A duration that no column holds.
      const exits = yield* settled((at) => (at === 4 ? 1e12 : at))
      expect(exits.map(Exit.isSuccess)).toEqual([true, true, true, true, false, true])
      const rows = () => sql`SELECT app_id, attempts FROM deliveries d
        WHERE NOT EXISTS (SELECT FROM webhook_flights f WHERE f.app_id = d.app_id AND d.id = ANY (f.ids)) ORDER BY app_id, created_at`
      expect(yield* rows()).toEqual([
        { app_id: "acme", attempts: 1 },
        { app_id: "acme", attempts: 1 },
        { app_id: "bolt", attempts: 1 },
        { app_id: "cord", attempts: 1 },
        { app_id: "cord", attempts: 1 }
      ])
      const commits = sql<{ commits: number }>`SELECT count(DISTINCT xmin::text)::int AS commits FROM delivery_attempts`
      expect(yield* commits).toEqual([{ commits: 3 }])
      yield* sql`TRUNCATE delivery_attempts`
      yield* sql`UPDATE deliveries SET attempts = 0`
      yield* settled(() => 1)
      expect(yield* rows()).toHaveLength(6)
      expect(yield* commits).toEqual([{ commits: 1 }])
    })
  )

  it.effect("change their endpoint as they would have one after the other", () =>
    Effect.gen(function* () {
      const { endpoints, one, sql } = yield* givenNodes
      const T = 2 * FAILING_MS
      // In the order in which they end; what counts is when each began.
      const stories: Readonly<Record<string, Story>> = {
        newly: { told: [failed(T + 2), failed(T + 1)], stands: { failingSince: T + 1 } },
        recovered: { told: [failed(T + 3), taken(T + 2), failed(T + 1)], stands: { failingSince: T + 3 } },
        healthy: { told: [taken(T + 3), failed(T + 1)], stands: {} },
        long: { told: [failed(T + FAILING_MS), failed(T)], stands: { off: "failing", failingSince: T, at: T + FAILING_MS } },
        before: { since: T - FAILING_MS, told: [taken(T + 2), failed(T + 1)], stands: { off: "failing", at: T + 1 } },
        "just-in-time": { since: T - FAILING_MS, told: [failed(T + 2), taken(T + 1)], stands: { failingSince: T + 2 } },
        "not-yet": { since: T, told: [failed(T + 1), failed(T + 2)], stands: { failingSince: T } },
        gone: { told: [taken(T + 3), gone(T + 2), failed(T + 1)], stands: { off: "gone", at: T + 2 } },
        "gone-first": {
          since: T - 1,
          told: [gone(T + 1), gone(T + 3), taken(T + 2)],
          stands: { off: "gone", failingSince: T + 3, at: T + 1 }
        },
        older: { told: [gone(3), failed(4)], stands: {} },
        elsewhere: { told: [gone(T + 1), failed(T + 2)], url: "https://elsewhere.example/", stands: {} }
      }
      for (const [name, { since, told }] of Object.entries(stories)) {
        yield* put(endpoints, endpoint(name))
        yield* givenWaiting(sql, name, told.length)
        if (since !== undefined)
          yield* sql`UPDATE webhook_endpoints SET failing_since = ${iso(since)}::timestamptz WHERE app_id = ${name}`
      }
      const claimed = yield* one.claimDue(NOW, 99, 8, LEASE_MS)
      const ending = Object.entries(stories).flatMap(([name, { told, url }]) => {
        const own = claimed.filter(({ endpoint }) => endpoint.appId === name)
        return told.flatMap(({ at, verdict }, index) =>
          own.slice(index, index + 1).map((delivery) => {
            const to = { ...delivery.endpoint, url: url ?? delivery.endpoint.url }
            return one.recordAttempt({ ...attempt({ ...delivery, endpoint: to }), at }, verdict)
          })
        )
      })
      yield* Effect.all(ending, { concurrency: "unbounded" })
      expect(
        yield* sql`SELECT count(*)::int AS attempts, count(DISTINCT xmin::text)::int AS commits FROM delivery_attempts`
      ).toEqual([{ attempts: ending.length, commits: 1 }])
      const rows = yield* sql`SELECT app_id, enabled, disabled_reason, failing_since, updated_at FROM webhook_endpoints`
      const stands = Object.entries(stories).map(
        ([
          name,
          {
            stands: { at = 5, failingSince, off }
          }
        ]) => ({
          app_id: name,
          enabled: off === undefined,
          disabled_reason: off ?? null,
          failing_since: failingSince === undefined ? null : new Date(failingSince),
          updated_at: new Date(at)
        })
      )
      expect(new Set(rows)).toEqual(new Set(stands))
    })
  )

  it.effect("are both kept when the delivery was leased again meanwhile, and end with the success", () =>
    Effect.gen(function* () {
      const { endpoints, one, other, sql } = yield* givenNodes
      yield* put(endpoints, endpoint("acme"))
      yield* givenWaiting(sql, "acme", 2)
      const late = yield* one.claimDue(NOW, 2, 8, LEASE_MS)
      const again = yield* other.claimDue(NOW + LEASE_MS, 2, 8, LEASE_MS)
      expect(again).toEqual(late)
      const [first, second] = late
      if (first === undefined || second === undefined) return yield* Effect.die("two were due")
      const retry = { _tag: "Again", at: NOW + 5_000 } as const
      const ending = [
        one.recordAttempt(attempt(first), retry),
        one.recordAttempt({ ...attempt(first), status: 200 }, { _tag: "Delivered" }),
        one.recordAttempt({ ...attempt(second), status: 200 }, { _tag: "Delivered" }),
        one.recordAttempt(attempt(second), retry)
      ]
      yield* Effect.all(ending, { concurrency: "unbounded" })
      expect(yield* sql`SELECT status, attempts FROM deliveries ORDER BY created_at`).toEqual([
        { status: "delivered", attempts: 2 },
        { status: "delivered", attempts: 1 }
      ])
      expect(yield* leftOf(sql)).toEqual({ due: 0, leased: 0 })
      expect(yield* sql`SELECT delivery_id = ${first.id} AS first, status FROM delivery_attempts ORDER BY line`).toEqual([
        { first: true, status: 500 },
        { first: false, status: 200 },
        { first: true, status: 200 }
      ])
    })
  )

  it.effect("find their deliveries by key and not among all due ones, before the tables were ever analysed", () =>
    Effect.gen(function* () {
      const { endpoints, one, sql } = yield* givenNodes
      yield* put(endpoints, endpoint("acme"))
      yield* givenWaiting(sql, "acme", 500)
      const claimed = yield* one.claimDue(NOW, 8, 8, LEASE_MS)
      const steps = claimed.map((delivery) => ({ attempt: attempt(delivery), verdict: { _tag: "Delivered" } as const }))
      const reads = sql<{
        table: string
        rows: number
      }>`SELECT relname AS table, (coalesce(idx_tup_fetch, 0) + seq_tup_read)::int AS rows
        FROM pg_stat_xact_user_tables WHERE relname IN ('deliveries_first', 'due_deliveries') ORDER BY relname`
      const recorded = Effect.andThen(sql.unsafe(recordAttemptSql, attemptParameters(steps)), reads)
      const read = yield* sql.withTransaction(recorded)
      expect(read.map(({ table }) => table)).toEqual(["deliveries_first", "due_deliveries"])
      // Each to be claimed, locked and changed; of all due ones it would be 500 each.
      expect(read.filter(({ rows }) => rows > 3 * steps.length)).toEqual([])
    })
  )
})

import { describe, it } from "@effect/vitest"
import { Context, Effect, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { defaultSubscription, EventType } from "../../../src/domain/Event.ts"
import { AppId } from "../../../src/domain/Ids.ts"
import { DEFAULT_ENDPOINT, FAILING_MS } from "../../../src/domain/WebhookEndpoint.ts"
import { AuditLog } from "../../../src/services/ports/AuditLog.ts"
import { type EndpointSettings, WebhookEndpoints } from "../../../src/services/ports/WebhookEndpoints.ts"
import { type AttemptOutcome, WebhookOutbox } from "../../../src/services/ports/WebhookOutbox.ts"
import { auditEntry, givenDatabase, givenNode } from "../../support/TestDatabase.ts"

const LEASE_MS = 30_000
const acme = AppId.make("acme")
/** No attempt has been made yet. */
const unjudged = { disabledReason: null, failingSince: null }
const wish: EndpointSettings = {
  appId: acme,
  mode: "test",
  name: DEFAULT_ENDPOINT,
  url: "https://acme.example/hook",
  events: ["payout.failed"],
  enabled: true
}
const secret = (name: string) => Redacted.make(`whsec_${name}`)

const given = Effect.gen(function* () {
  const url = yield* givenDatabase
  const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
  const sql = Context.get(one, SqlClient.SqlClient)
  const endpoints = Context.get(one, WebhookEndpoints)
  const outbox = Context.get(one, WebhookOutbox)

  /** One event that waits since the beginning of time. */
  const waiting = (id: number) =>
    sql`WITH made AS (INSERT INTO events (app_id, id, mode, type, body, created_at)
        VALUES ('acme', lpad(${String(id)}, 26, '0'), 'test', 'payout.failed', '{}', to_timestamp(0)) RETURNING *), queued AS (
        INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
        SELECT app_id, id, mode, id, 'due', created_at, created_at FROM made RETURNING *
      )
      INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at) SELECT app_id, mode, next_attempt_at, id, created_at FROM queued`
  const claim = (at: number) => Effect.map(outbox.claimDue(at, 9, 8, LEASE_MS), ([first]) => first)
  /** The secrets that an attempt at that moment signs with. */
  const signing = (at: number) =>
    Effect.map(claim(at), (due) =>
      due === undefined
        ? []
        : [due.endpoint.secret, due.endpoint.previousSecret].flatMap((one) => (one === undefined ? [] : [Redacted.value(one)]))
    )
  const attempted = Effect.fnUntraced(function* (at: number, status: number, verdict: AttemptOutcome) {
    const delivery = yield* claim(at)
    if (delivery === undefined) return yield* Effect.die("nothing was due")
    yield* outbox.recordAttempt({ delivery, at, durationMs: 1, status, excerpt: "" }, verdict)
  })
  const standing = Effect.map(endpoints.find(wish), Option.getOrUndefined)
  const log = Context.get(one, AuditLog)
  return {
    sql,
    endpoints,
    outbox,
    log,
    other: Context.get(other, WebhookEndpoints),
    waiting,
    claim,
    signing,
    attempted,
    standing
  }
})

describe("an endpoint", () => {
  it.effect("is created, changed and removed, its secret sealed, each with an audit row", () =>
    Effect.gen(function* () {
      const { endpoints, log, other, sql } = yield* given
      expect(yield* endpoints.find(wish)).toEqual(Option.none())
      const first = Option.getOrThrow(
        yield* endpoints.put({ ...wish, secret: secret("one"), rotatesUntil: null, at: 5, change: auditEntry() })
      )
      expect(first).toEqual({ created: true, endpoint: { ...wish, ...unjudged, createdAt: 5, updatedAt: 5 } })
      const change = { ...wish, url: "https://new.example/", enabled: false }
      const second = Option.getOrThrow(
        yield* endpoints.put({ ...change, secret: secret("two"), rotatesUntil: null, at: 6, change: auditEntry() })
      )
      expect(second).toEqual({ created: false, endpoint: { ...change, ...unjudged, createdAt: 5, updatedAt: 6 } })
      expect(yield* other.find(wish)).toEqual(Option.some(second.endpoint))
      expect(yield* other.find({ ...wish, mode: "live" })).toEqual(Option.none())
      expect(
        yield* sql`SELECT 1 FROM webhook_endpoints WHERE position(convert_to('whsec', 'UTF8') IN secret_sealed) > 0`
      ).toEqual([])
      expect(yield* other.remove(wish, auditEntry())).toEqual(Option.some(second.endpoint))
      expect(yield* endpoints.remove(wish, auditEntry())).toEqual(Option.none())
      expect(
        yield* endpoints.rotate({
          appId: acme,
          mode: "test",
          name: DEFAULT_ENDPOINT,
          secret: secret("no"),
          until: 9,
          at: 8,
          change: auditEntry()
        })
      ).toBe(false)
      expect(yield* log.list(9)).toHaveLength(3)
    })
  )

  it.effect("keeps newer event types where the release before does not look, and gets them whichever release set its list", () =>
    Effect.gen(function* () {
      const { endpoints, sql, standing } = yield* given
      const put = (events: ReadonlyArray<EventType>) =>
        endpoints.put({ ...wish, events, secret: secret("one"), rotatesUntil: null, at: 5, change: auditEntry() })
      const read = Effect.map(
        sql<{ events: ReadonlyArray<string> }>`SELECT events FROM webhook_endpoints`,
        ([row]) => row?.events
      )
      const subscribed = Effect.map(standing, (found) => found?.events)
      const setBefore = (events: ReadonlyArray<string>) => sql`UPDATE webhook_endpoints SET events = ${events}`
      const defaultBefore = [
        "collection.successful",
        "collection.failed",
        "collection.expired",
        "payout.successful",
        "payout.failed",
        "payout.returned",
        "fx.successful",
        "fx.failed"
      ] as const

      expect(Option.getOrThrow(yield* put(EventType.literals)).endpoint.events).toStrictEqual(EventType.literals)
      expect(yield* subscribed).toStrictEqual(EventType.literals)
      expect(yield* read).toStrictEqual([
        "collection.requires_action",
        "collection.pending",
        "collection.successful",
        "collection.failed",
        "collection.expired",
        "payout.pending",
        "payout.successful",
        "payout.failed",
        "payout.returned",
        "fx.successful",
        "fx.failed"
      ])
      yield* put(["collection.updated"])
      expect([yield* subscribed, yield* read]).toStrictEqual([["collection.updated"], []])

      yield* setBefore(["payout.failed"])
      expect(yield* subscribed).toStrictEqual(["payout.failed"])
      yield* setBefore(defaultBefore)
      expect(yield* subscribed).toStrictEqual(defaultSubscription)
      // As it stood before there were newer types at all.
      yield* sql`UPDATE webhook_endpoints SET subscription = NULL, subscription_beside = NULL`
      expect(yield* subscribed).toStrictEqual(defaultSubscription)
      // Chosen by somebody who knew the newer ones.
      yield* put(defaultBefore)
      expect(yield* subscribed).toStrictEqual(defaultBefore)
    })
  )

  it.effect("signs with its old secret beside the new one until the rotation ends", () =>
    Effect.gen(function* () {
      const { endpoints, signing, waiting } = yield* given
      yield* endpoints.put({ ...wish, secret: secret("one"), rotatesUntil: null, at: 5, change: auditEntry() })
      yield* waiting(1)
      expect(yield* signing(10)).toEqual(["whsec_one"])
      yield* endpoints.rotate({
        appId: acme,
        mode: "test",
        name: DEFAULT_ENDPOINT,
        secret: secret("two"),
        until: 200_000,
        at: 11,
        change: auditEntry()
      })
      expect(yield* signing(100_000)).toEqual(["whsec_two", "whsec_one"])
      // A change keeps the secret and the rotation.
      yield* endpoints.put({
        ...wish,
        url: "https://new.example/",
        secret: secret("unused"),
        rotatesUntil: null,
        at: 12,
        change: auditEntry()
      })
      expect(yield* signing(199_999)).toEqual(["whsec_two", "whsec_one"])
      expect(yield* signing(300_000)).toEqual(["whsec_two"])
      yield* endpoints.put({ ...wish, secret: secret("three"), rotatesUntil: 500_000, at: 13, change: auditEntry() })
      expect(yield* signing(400_000)).toEqual(["whsec_three", "whsec_two"])
    })
  )

  it.effect("keeps no old secret that signs nothing any more", () =>
    Effect.gen(function* () {
      const { endpoints, signing, sql, waiting } = yield* given
      const old = sql`SELECT previous_secret_sealed IS NOT NULL AS kept FROM webhook_endpoints`
      yield* endpoints.put({ ...wish, secret: secret("one"), rotatesUntil: null, at: 5, change: auditEntry() })
      yield* waiting(1)
      yield* endpoints.rotate({
        appId: acme,
        mode: "test",
        name: DEFAULT_ENDPOINT,
        secret: secret("two"),
        until: 200_000,
        at: 11,
        change: auditEntry()
      })
      expect([yield* endpoints.forgetOldSecrets(200_000, 9), yield* old]).toEqual([0, [{ kept: true }]])
      expect([yield* endpoints.forgetOldSecrets(200_001, 9), yield* old]).toEqual([1, [{ kept: false }]])
      expect([yield* endpoints.forgetOldSecrets(200_001, 9), yield* signing(300_000)]).toEqual([0, ["whsec_two"]])
    })
  )

  it.effect("is disabled after 120 h of failures only, and not when an attempt succeeded in between", () =>
    Effect.gen(function* () {
      const { attempted, endpoints, standing, waiting } = yield* given
      yield* endpoints.put({ ...wish, secret: secret("one"), rotatesUntil: null, at: 0, change: auditEntry() })
      yield* waiting(1)
      const again = (at: number) => ({ _tag: "Again", at }) as const
      yield* attempted(1_000, 500, again(2_000))
      yield* attempted(FAILING_MS + 999, 500, again(0))
      expect(yield* standing).toMatchObject({ enabled: true, disabledReason: null, failingSince: 1_000, updatedAt: 0 })
      yield* attempted(FAILING_MS + 1_000, 500, again(0))
      expect(yield* standing).toMatchObject({ enabled: false, disabledReason: "failing", updatedAt: FAILING_MS + 1_000 })
      // Enabled again, it begins anew; what waited goes on.
      yield* endpoints.put({ ...wish, secret: secret("one"), rotatesUntil: null, at: 5, change: auditEntry() })
      yield* attempted(2 * FAILING_MS, 500, again(0))
      expect(yield* standing).toMatchObject({ enabled: true, disabledReason: null, failingSince: 2 * FAILING_MS })
      yield* attempted(2 * FAILING_MS + 1, 204, { _tag: "Delivered" })
      expect(yield* standing).toMatchObject({ enabled: true, failingSince: null })
      yield* waiting(2)
      yield* attempted(4 * FAILING_MS, 500, again(0))
      expect(yield* standing).toMatchObject({ enabled: true })
    })
  )

  it.effect("is disabled when it answers 410, unless it has another address by then", () =>
    Effect.gen(function* () {
      const { attempted, claim, endpoints, outbox, sql, standing, waiting } = yield* given
      yield* endpoints.put({ ...wish, secret: secret("one"), rotatesUntil: null, at: 0, change: auditEntry() })
      yield* waiting(1)
      yield* attempted(1_000, 410, { _tag: "Gone" })
      expect(yield* standing).toMatchObject({ enabled: false, disabledReason: "gone", updatedAt: 1_000 })
      expect(yield* sql`SELECT status FROM deliveries`).toEqual([{ status: "parked" }])
      // Enabled again at another address, while the old one is still being asked.
      yield* endpoints.put({ ...wish, secret: secret("one"), rotatesUntil: null, at: 0, change: auditEntry() })
      yield* waiting(2)
      const asked = yield* claim(2_000)
      if (asked === undefined) return yield* Effect.die("nothing was due")
      yield* endpoints.put({
        ...wish,
        url: "https://new.example/",
        secret: secret("one"),
        rotatesUntil: null,
        at: 0,
        change: auditEntry()
      })
      yield* outbox.recordAttempt({ delivery: asked, at: 2_000, durationMs: 1, status: 410, excerpt: "" }, { _tag: "Gone" })
      expect(yield* standing).toMatchObject({ enabled: true, disabledReason: null })
    })
  )

  it.effect("is not disabled by an attempt that began before it was enabled again", () =>
    Effect.gen(function* () {
      const { claim, endpoints, outbox, standing, waiting } = yield* given
      yield* endpoints.put({ ...wish, secret: secret("one"), rotatesUntil: null, at: 0, change: auditEntry() })
      yield* waiting(1)
      const asked = yield* claim(2_000)
      if (asked === undefined) return yield* Effect.die("nothing was due")
      yield* endpoints.put({ ...wish, secret: secret("one"), rotatesUntil: null, at: 2_500, change: auditEntry() })
      yield* outbox.recordAttempt({ delivery: asked, at: 2_000, durationMs: 900, status: 410, excerpt: "" }, { _tag: "Gone" })
      expect(yield* standing).toMatchObject({ enabled: true, disabledReason: null, updatedAt: 2_500 })
    })
  )
})

import { describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { expect } from "vitest"
import { EventType } from "../../../src/domain/Event.ts"
import { AppId, Reference } from "../../../src/domain/Ids.ts"
import { DEFAULT_ENDPOINT, ENDPOINTS_AT_MOST, EndpointName } from "../../../src/domain/WebhookEndpoint.ts"
import { isNewer, storedType, tellNewer } from "../../../src/persistence/transactions/NewerEventTypes.ts"
import { makeEventRetention } from "../../../src/services/DataRetention.ts"
import { AuditLog } from "../../../src/services/ports/AuditLog.ts"
import { WebhookDeliveries } from "../../../src/services/ports/WebhookDeliveries.ts"
import { WebhookEndpoints } from "../../../src/services/ports/WebhookEndpoints.ts"
import { type DueDelivery, WebhookOutbox } from "../../../src/services/ports/WebhookOutbox.ts"
import { type SignedDelivery, WebhookSender } from "../../../src/services/ports/WebhookSender.ts"
import { WebhookDispatcher } from "../../../src/services/webhooks/WebhookDispatcher.ts"
import { fake } from "../../fakes/Fake.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { auditEntry, givenDatabase, givenNode, newReference } from "../../support/TestDatabase.ts"

const DAY_MS = 24 * 3_600_000
const HOUR_MS = 3_600_000
const LEASE_MS = 30_000
const PER_ENDPOINT = 8
const acme = AppId.make("acme")
const [erp, mail] = [EndpointName.make("erp"), EndpointName.make("mail")]

const given = Effect.gen(function* () {
  const node = yield* givenNode(yield* givenDatabase)
  const sql = Context.get(node, SqlClient.SqlClient)
  const endpoints = Context.get(node, WebhookEndpoints)
  const put = (name: EndpointName, events: ReadonlyArray<EventType> = ["payout.failed"], enabled = true) =>
    endpoints.put({
      appId: acme,
      mode: "test",
      name,
      url: `https://acme.example/${name}`,
      events,
      enabled,
      secret: Redacted.make(`whsec_${name}`),
      rotatesUntil: null,
      at: 0,
      change: auditEntry()
    })
  /** An event of a money step, as its function writes it. */
  const event = (id: string, type: EventType = "payout.failed", at = 1) =>
    sql`SELECT write_event('acme', 'test', NULL, to_timestamp(${at}::float8 / 1000), ${id}, ${storedType(type)}, ${JSON.stringify({ id, type })})`
  const [outbox, deliveries] = [Context.get(node, WebhookOutbox), Context.get(node, WebhookDeliveries)]
  const claim = (now: number) => outbox.claimDue(now, 1_000, PER_ENDPOINT, LEASE_MS)
  return { node, sql, endpoints, put, event, outbox, deliveries, claim, log: Context.get(node, AuditLog) }
})

const idOf = (n: number) => Reference.make(String(n).padStart(26, "0"))
/** Which event goes where, with which secret. */
const told = (claimed: ReadonlyArray<DueDelivery>) =>
  claimed.map(({ endpoint, eventId }) => `${Number(eventId)} ${endpoint.url} ${Redacted.value(endpoint.secret)}`).sort()

describe("endpoints of one tenant", () => {
  it.effect("are at most five of a mode, the default always among them, also of many that are added at once", () =>
    Effect.gen(function* () {
      const { endpoints, log, put } = yield* given
      const names = Array.from({ length: 12 }, (_, at) => EndpointName.make(`other-${at}`))
      const made = yield* Effect.forEach(names, (name) => put(name), { concurrency: "unbounded" })
      const kept = names.filter((_, at) => made[at] !== undefined && Option.isSome(made[at]))
      expect(kept).toHaveLength(ENDPOINTS_AT_MOST - 1)
      expect(Option.isSome(yield* put(DEFAULT_ENDPOINT))).toBe(true)
      expect((yield* endpoints.list(acme, "test")).map(({ name }) => name)).toStrictEqual([DEFAULT_ENDPOINT, ...kept.sort()])
      expect(yield* endpoints.list(acme, "live")).toStrictEqual([])
      // One that stands is changed, and its place is free once it is removed.
      const [first = erp] = kept
      expect(Option.getOrThrow(yield* put(first)).created).toBe(false)
      expect(Option.isNone(yield* put(erp))).toBe(true)
      const id = { appId: acme, mode: "test", name: first } as const
      expect(Option.getOrThrow(yield* endpoints.remove(id, auditEntry())).name).toBe(first)
      expect(Option.getOrThrow(yield* put(erp)).created).toBe(true)
      expect(yield* log.list(99)).toHaveLength(ENDPOINTS_AT_MOST + 2)
    })
  )

  it.effect("have secrets of their own, sealed for their place, and rotated one by one", () =>
    Effect.gen(function* () {
      const { claim, endpoints, event, put, sql } = yield* given
      for (const name of [DEFAULT_ENDPOINT, erp, mail]) yield* put(name)
      const id = { appId: acme, mode: "test", name: erp } as const
      yield* endpoints.rotate({ ...id, secret: Redacted.make("whsec_new"), until: 500_000, at: 1, change: auditEntry() })
      yield* event(idOf(1))
      const secrets = Effect.map(claim(10), (claimed) =>
        Object.fromEntries(
          claimed.map(({ endpoint: { name, previousSecret, secret } }) => [
            name,
            [secret, previousSecret].flatMap((one) => (one === undefined ? [] : [Redacted.value(one)]))
          ])
        )
      )
      expect(yield* secrets).toStrictEqual({
        default: ["whsec_default"],
        erp: ["whsec_new", "whsec_erp"],
        mail: ["whsec_mail"]
      })
      expect([yield* endpoints.forgetOldSecrets(500_000, 9), yield* endpoints.forgetOldSecrets(500_001, 9)]).toStrictEqual([0, 1])
      // A secret that was copied to another endpoint's row opens nothing there, and holds up no other endpoint.
      yield* sql`UPDATE named_endpoints SET secret_sealed = (SELECT secret_sealed FROM named_endpoints WHERE name = 'mail') WHERE name = 'erp'`
      yield* event(idOf(2))
      expect(told(yield* claim(20))).toStrictEqual([
        "2 https://acme.example/default whsec_default",
        "2 https://acme.example/mail whsec_mail"
      ])
    })
  )

  it.effect("are disabled one by one: an attempt at one says nothing about the others", () =>
    Effect.gen(function* () {
      const { claim, deliveries, endpoints, event, outbox, put } = yield* given
      for (const name of [DEFAULT_ENDPOINT, erp]) yield* put(name)
      yield* event(idOf(1))
      for (const delivery of yield* claim(10)) {
        const isGone = delivery.endpoint.name === erp
        const attempt = { delivery, at: 10, durationMs: 1, status: isGone ? 410 : 204, excerpt: "" }
        yield* outbox.recordAttempt(attempt, isGone ? { _tag: "Gone" } : { _tag: "Delivered" })
      }
      const states = Effect.map(endpoints.list(acme, "test"), (all) =>
        all.map((one) => [one.name, one.enabled, one.disabledReason])
      )
      expect(yield* states).toStrictEqual([
        ["default", true, null],
        ["erp", false, "gone"]
      ])
      yield* event(idOf(2))
      expect(told(yield* claim(20))).toStrictEqual(["2 https://acme.example/default whsec_default"])
      const list = (endpoint: EndpointName | null, status: "parked" | null = null) =>
        Effect.map(deliveries.list({ appId: acme, mode: "test", endpoint, status, limit: 9, after: null }), ({ items }) =>
          items.map((one) => `${Number(one.eventId)} ${one.endpoint} ${one.status} ${one.attempts.length}`)
        )
      expect(yield* list(erp)).toStrictEqual(["1 erp parked 1"])
      expect(yield* list(DEFAULT_ENDPOINT)).toStrictEqual(["2 default due 0", "1 default delivered 1"])
      expect((yield* list(null)).sort()).toStrictEqual(["1 default delivered 1", "1 erp parked 1", "2 default due 0"])
      expect(yield* list(null, "parked")).toStrictEqual(["1 erp parked 1"])
    })
  )

  it.effect("have a turn each: one with a long queue, in flight or disabled, holds up no other", () =>
    Effect.gen(function* () {
      const { claim, event, outbox, put } = yield* given
      yield* put(erp)
      for (let n = 1; n <= 50; n++) yield* event(idOf(n), "payout.failed", n)
      yield* put(DEFAULT_ENDPOINT)
      yield* event(idOf(51), "payout.failed", 51)
      // One place is left: it is the first of each in turn.
      const first = yield* outbox.claimDue(100, 2, PER_ENDPOINT, LEASE_MS)
      expect(told(first)).toStrictEqual(["1 https://acme.example/erp whsec_erp", "51 https://acme.example/default whsec_default"])
      // So many at once of one of two endpoints, whatever is free.
      expect(yield* claim(100)).toHaveLength(5)
      yield* event(idOf(52), "payout.failed", 52)
      expect(told(yield* claim(100))).toStrictEqual(["52 https://acme.example/default whsec_default"])
    })
  )

  it.effect("take turns with other tenants as one: several endpoints are no more turns", () =>
    Effect.gen(function* () {
      const { endpoints, event, outbox, put, sql } = yield* given
      for (const name of [DEFAULT_ENDPOINT, erp, mail]) yield* put(name)
      const bolt = { appId: AppId.make("bolt"), mode: "test", name: DEFAULT_ENDPOINT, url: "https://bolt.example/" } as const
      const wish = { ...bolt, events: ["payout.failed"], enabled: true, secret: Redacted.make("whsec_bolt") } as const
      yield* endpoints.put({ ...wish, rotatesUntil: null, at: 0, change: auditEntry() })
      for (const n of [1, 2, 3]) yield* event(idOf(n), "payout.failed", n)
      yield* sql`SELECT write_event('bolt', 'test', NULL, to_timestamp(1), ${idOf(9)}, 'payout.failed', '{}')`
      expect((yield* outbox.claimDue(2_000, 2, PER_ENDPOINT, LEASE_MS)).map(({ endpoint }) => endpoint.appId)).toStrictEqual([
        acme,
        bolt.appId
      ])
    })
  )

  it.effect("a recovery sends again to one of them alone, what that one wants and is not due to it", () =>
    Effect.gen(function* () {
      const { claim, deliveries, event, outbox, put } = yield* given
      yield* put(DEFAULT_ENDPOINT)
      yield* put(erp, ["payout.failed"], false)
      yield* event(idOf(1), "payout.failed", 1)
      yield* event(idOf(2), "payout.pending", 2)
      for (const delivery of yield* claim(10))
        yield* outbox.recordAttempt({ delivery, at: 10, durationMs: 1, status: 204, excerpt: "" }, { _tag: "Delivered" })
      yield* put(erp, ["payout.failed"])
      yield* event(idOf(3), "payout.failed", 3)
      const ids = yield* Effect.replicateEffect(newReference, 9)
      const step = { appId: acme, mode: "test", from: { at: 0, id: "" }, until: 1_000, ids, dueAtMost: 99 } as const
      expect(yield* deliveries.recover({ ...step, endpoint: erp, change: auditEntry() })).toStrictEqual({ made: 1, next: null })
      expect(told(yield* claim(2_000))).toStrictEqual([
        "1 https://acme.example/erp whsec_erp",
        "3 https://acme.example/default whsec_default",
        "3 https://acme.example/erp whsec_erp"
      ])
    })
  )

  it.effect("are parked where their endpoint is removed, and redelivered once there is one of its name", () =>
    Effect.gen(function* () {
      const { claim, deliveries, endpoints, event, put, sql } = yield* given
      yield* put(DEFAULT_ENDPOINT)
      const counts = sql`SELECT (SELECT count(*)::int FROM named_due_deliveries) AS due, (SELECT count(*)::int FROM named_flights) AS flights`
      // Each has one delivery under way and others that wait when it goes.
      for (const [at, name] of [erp, mail].entries()) {
        yield* put(name)
        for (const n of [1, 2, 3]) yield* event(idOf(3 * at + n), "payout.failed", n)
        yield* claim(10)
        yield* event(idOf(7 + at), "payout.failed", 20)
        yield* endpoints.remove({ appId: acme, mode: "test", name }, auditEntry())
        expect(yield* counts).toStrictEqual([{ due: 0, flights: 0 }])
      }
      const listed = (endpoint: EndpointName, status: "due" | "parked") =>
        Effect.map(deliveries.list({ appId: acme, mode: "test", endpoint, status, limit: 9, after: null }), ({ items }) => items)
      const parked = yield* listed(erp, "parked")
      expect([parked.length, (yield* listed(erp, "due")).length]).toStrictEqual([4, 0])
      expect([(yield* listed(mail, "parked")).length, (yield* listed(DEFAULT_ENDPOINT, "due")).length]).toStrictEqual([4, 8])
      yield* put(erp)
      const ofErp = Effect.map(claim(LEASE_MS + 100), (all) => told(all).filter((one) => one.includes("/erp ")))
      expect(yield* ofErp).toStrictEqual([])
      const [last] = parked
      const id = last?.id ?? idOf(0)
      expect(yield* deliveries.redeliver({ appId: acme, mode: "test", endpoint: erp, id, at: 200, change: auditEntry() })).toBe(
        true
      )
      expect(yield* ofErp).toStrictEqual(["7 https://acme.example/erp whsec_erp"])
    })
  )

  it.effect("and the default are recorded apart: where a delivery of one is held, the other's attempts are written", () =>
    Effect.gen(function* () {
      const { claim, deliveries, event, outbox, put, sql } = yield* given
      for (const name of [DEFAULT_ENDPOINT, erp]) yield* put(name)
      yield* event(idOf(1))
      const [first, second] = (yield* claim(10)).toSorted((one) => (one.endpoint.name === erp ? 1 : -1))
      if (first === undefined || second === undefined) return yield* Effect.die(new Error("two were due"))
      const record = (delivery: DueDelivery) =>
        outbox.recordAttempt({ delivery, at: 10, durationMs: 1, status: 204, excerpt: "" }, { _tag: "Delivered" })
      const [isHeld, isDone] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const holder = yield* sql`SELECT 1 FROM named_deliveries FOR UPDATE`.pipe(
        Effect.andThen(Deferred.succeed(isHeld, undefined)),
        Effect.andThen(Deferred.await(isDone)),
        (held) => sql.withTransaction(held),
        Effect.forkScoped
      )
      yield* Deferred.await(isHeld)
      const [ofDefault, ofErp] = [yield* Effect.forkScoped(record(first)), yield* Effect.forkScoped(record(second))]
      // Which transaction waits for the held row, and since when: another one would wait once this one had given up.
      const waiting = sql`SELECT pid, xact_start::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
      const before = yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
      yield* Fiber.join(ofDefault)
      expect(yield* waiting).toStrictEqual(before)
      yield* event(idOf(2))
      expect(told(yield* claim(20))).toHaveLength(2)
      expect(yield* waiting).toStrictEqual(before)
      yield* Deferred.succeed(isDone, undefined)
      yield* Effect.all([Fiber.join(holder), Fiber.join(ofErp)])
      const query = { appId: acme, mode: "test", endpoint: null, status: "delivered", limit: 9, after: null } as const
      expect((yield* deliveries.list(query)).items).toHaveLength(2)
    })
  )

  it.effect("keep an event as long as its delivery to one of them is due or parked, and its deliveries go with it", () =>
    Effect.gen(function* () {
      const { event, node, put, sql } = yield* given
      yield* put(erp)
      for (const n of [1, 2, 3, 4]) yield* event(idOf(n), "payout.failed", n)
      yield* sql`UPDATE named_deliveries SET status = 'delivered', next_attempt_at = NULL WHERE event_id IN (${idOf(1)}, ${idOf(3)})`
      yield* sql`UPDATE named_deliveries SET status = 'parked', next_attempt_at = NULL WHERE event_id = ${idOf(4)}`
      // The third went with its month.
      yield* sql`DELETE FROM events WHERE id = ${idOf(3)}`
      const round = yield* makeEventRetention.pipe(Effect.provide(node))
      expect(yield* round(40 * DAY_MS)).toBe(1)
      const left = [{ id: idOf(2) }, { id: idOf(4) }]
      expect([
        yield* sql`SELECT id FROM events ORDER BY id`,
        yield* sql`SELECT event_id AS id FROM named_deliveries ORDER BY event_id`
      ]).toStrictEqual([left, left])
    })
  )
})

interface World {
  readonly endpoints: ReadonlyArray<{
    readonly name: EndpointName
    readonly enabled: boolean
    readonly events: ReadonlyArray<EventType>
  }>
  readonly events: ReadonlyArray<EventType>
}
const world: fc.Arbitrary<World> = fc.record({
  endpoints: fc.uniqueArray(
    fc.record({
      name: fc.constantFrom(...["default", "erp", "mail", "a", "-"].map((name) => EndpointName.make(name))),
      enabled: fc.boolean(),
      events: fc.subarray([...EventType.literals])
    }),
    { selector: ({ name }) => name, maxLength: ENDPOINTS_AT_MOST }
  ),
  events: fc.array(fc.constantFrom(...EventType.literals.filter((type) => type !== "webhook.test")), { maxLength: 12 })
})

describe("every event", () => {
  it.effect("is delivered to exactly the endpoints that want it, whatever they want and whichever statement writes it", () =>
    Effect.gen(function* () {
      const { event, node, put, sql } = yield* given
      const outbox = Context.get(node, WebhookOutbox)
      for (const { endpoints, events } of fc.sample(world, 40)) {
        yield* sql`TRUNCATE events, deliveries, due_deliveries, webhook_endpoints, webhook_flights, named_endpoints, named_deliveries,
          named_due_deliveries, named_flights`
        for (const { enabled, events: wanted, name } of endpoints) yield* put(name, wanted, enabled)
        const steps = events.map((type, at) => ({ id: idOf(at + 1), type, body: JSON.stringify({ type }) }))
        // In turn by the function of one step, by that of a batch, and beside the steps.
        for (const { body, id, type } of steps.filter(({ type }) => isNewer(type)))
          yield* tellNewer(sql, { id, appId: acme, mode: "test", type, reference: null, at: 1, body })
        const known = steps.filter(({ type }) => !isNewer(type))
        const batch = known.filter((_, at) => at % 2 === 0)
        for (const { id, type } of known.filter((_, at) => at % 2 === 1)) yield* event(id, type)
        const of = (value: string) => batch.map(() => value)
        yield* sql`SELECT write_events(${batch.map((_, at) => at + 1)}::int[], ${of("acme")}::text[], ${of("test")}::text[],
          array_fill(NULL::text, ARRAY[${batch.length}::int]), ${of("1970-01-01T00:00:00.001Z")}::text[]::timestamptz[], ${batch.map(({ id }) => id)}::text[],
          ${batch.map(({ type }) => type)}::text[], ${batch.map(({ body }) => body)}::text[])`
        const claimed = yield* outbox.claimDue(10, 1_000, 1_000, LEASE_MS)
        const wanted = endpoints
          .filter(({ enabled }) => enabled)
          .flatMap(({ events: own, name }) => steps.filter(({ type }) => own.includes(type)).map(({ id }) => `${id} ${name}`))
        expect(claimed.map(({ endpoint, eventId }) => `${eventId} ${endpoint.name}`).sort()).toStrictEqual(wanted.sort())
        expect(claimed.every(({ endpoint }) => Redacted.value(endpoint.secret) === `whsec_${endpoint.name}`)).toBe(true)
        expect(new Set(claimed.map(({ id }) => id)).size).toBe(wanted.length)
      }
    })
  )

  it.effect(
    "is heard at once by the default while another endpoint is down for a day, and that one gets it when it is back",
    () =>
      Effect.gen(function* () {
        const { deliveries, event, node, put } = yield* given
        yield* put(DEFAULT_ENDPOINT)
        yield* put(erp)
        let isDown = true
        const posted: Array<SignedDelivery> = []
        const sender = fake(WebhookSender, {
          post: (one) =>
            Effect.sync(() => {
              posted.push(one)
              return { status: isDown && one.url.endsWith("/erp") ? 503 : 204, excerpt: "", retryAfter: null, problem: null }
            })
        })
        // Every hour, for longer than the day.
        const policy = fakePolicy({ webhookScheduleMs: [0, ...Array.from({ length: 30 }, () => HOUR_MS)] })
        const ports = Layer.mergeAll(Layer.succeedContext(node), sender, policy)
        const { round } = Context.get(yield* Layer.build(Layer.provide(WebhookDispatcher.layer, ports)), WebhookDispatcher)
        const arrived = (url: string, from: number) => posted.slice(from).filter((one) => one.url.endsWith(url)).length
        for (let hour = 1; hour <= 24; hour++) {
          const before = posted.length
          yield* event(idOf(hour), "payout.failed", hour * HOUR_MS)
          yield* TestClock.setTime(hour * HOUR_MS)
          yield* round
          expect(arrived("/default", before)).toBe(1)
        }
        const list = (endpoint: EndpointName, status: "due" | "delivered") =>
          Effect.map(
            deliveries.list({ appId: acme, mode: "test", endpoint, status, limit: 100, after: null }),
            ({ items }) => items.length
          )
        expect([yield* list(DEFAULT_ENDPOINT, "delivered"), yield* list(erp, "due")]).toStrictEqual([24, 24])
        isDown = false
        yield* TestClock.setTime(26 * HOUR_MS)
        yield* round
        while ((yield* round) > 0) yield* Effect.void
        expect([yield* list(erp, "delivered"), yield* list(erp, "due"), arrived("/default", 0)]).toStrictEqual([24, 0, 24])
        // One event, the same bytes and the same id, whoever gets it.
        const bodies = Map.groupBy(posted, ({ headers }) => headers["webhook-id"])
        expect([...bodies.values()].every((all) => new Set(all.map(({ body }) => body)).size === 1)).toBe(true)
        expect(bodies.size).toBe(24)
      })
  )
})

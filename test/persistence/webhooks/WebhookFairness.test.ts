import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { EventType } from "../../../src/domain/Event.ts"
import { AppId } from "../../../src/domain/Ids.ts"
import { DEFAULT_ENDPOINT, EndpointName } from "../../../src/domain/WebhookEndpoint.ts"
import { WebhookEndpoints } from "../../../src/services/ports/WebhookEndpoints.ts"
import { WebhookOutbox } from "../../../src/services/ports/WebhookOutbox.ts"
import { auditEntry, givenDatabase, givenNode } from "../../support/TestDatabase.ts"
import { newSecret } from "../../support/WebhookReceiver.ts"

const FLOOD = 2_000
const OTHERS = 20
const EACH = 8
const SLOTS = 128
const PER_ENDPOINT = 8
const NOW = 100_000_000
const LEASE_MS = 60_000

/** The slots of a node (WebhookDispatcher). */
const SLOTS_OF_A_NODE = 256
/** With five endpoints each, they leave a node the slots of one more tenant, as so many with one endpoint do. */
const HOSTILE = SLOTS_OF_A_NODE / PER_ENDPOINT - 1

const waiting = (sql: SqlClient.SqlClient, name: string, count: number, from: number) =>
  sql`WITH made AS (
      INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
      SELECT ${name}, upper(substr(translate(md5(${name} || n), 'ilou', 'jkmn'), 1, 26)), 'live', 'payout.successful', NULL, '{}',
        to_timestamp((${from}::int + n) / 1000.0)
      FROM generate_series(1, ${count}::int) AS n RETURNING app_id, id, mode, created_at
    ), queued AS (
      INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
      SELECT app_id, id, mode, id, 'due', created_at, created_at FROM made RETURNING *
    )
    INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at) SELECT app_id, mode, next_attempt_at, id, created_at FROM queued`

/** How many rounds of claims pass until the last event of the others is claimed, and what they claimed of the dead endpoint. */
const rounds = Effect.fnUntraced(function* (flood: number) {
  const url = yield* givenDatabase
  const nodes = yield* Effect.all([givenNode(url), givenNode(url)])
  const [node] = nodes
  const sql = Context.get(node, SqlClient.SqlClient)
  const names = ["dead", ...Array.from({ length: OTHERS }, (_, index) => `other-${index}`)]
  for (const name of names) {
    const wish = {
      appId: AppId.make(name),
      mode: "live",
      name: DEFAULT_ENDPOINT,
      url: `https://${name}.example/`,
      events: ["payout.successful"],
      enabled: true
    } as const
    yield* Context.get(node, WebhookEndpoints).put({
      ...wish,
      secret: Redacted.make(newSecret()),
      rotatesUntil: null,
      at: 0,
      change: auditEntry()
    })
    // The dead endpoint's events are the older ones.
    yield* name === "dead" ? waiting(sql, name, flood, 0) : waiting(sql, name, EACH, FLOOD)
  }
  const seen = { rounds: 0, dead: 0, others: 0 }
  while (seen.others < OTHERS * EACH) {
    const one = nodes[seen.rounds % 2] ?? node
    const claimed = yield* Context.get(one, WebhookOutbox).claimDue(NOW, SLOTS, PER_ENDPOINT, LEASE_MS)
    if (claimed.length === 0) return yield* Effect.die("nothing is claimed although something waits")
    const dead = claimed.filter(({ endpoint }) => endpoint.appId === "dead").length
    seen.rounds++
    seen.dead += dead
    seen.others += claimed.length - dead
  }
  return seen
})

describe("fairness between tenants' deliveries", () => {
  it.effect(`needs no more claims for other tenants beside a dead endpoint with ${FLOOD} waiting events than without it`, () =>
    Effect.gen(function* () {
      const alone = yield* rounds(0)
      const beside = yield* rounds(FLOOD)
      expect(alone).toEqual({ rounds: 2, dead: 0, others: OTHERS * EACH })
      // What hangs at the dead endpoint holds 8 slots of one node, over all nodes, and no more.
      expect(beside).toEqual({ rounds: 2, dead: PER_ENDPOINT, others: OTHERS * EACH })
    })
  )
})

const severalEndpoints = Effect.gen(function* () {
  const node = yield* givenNode(yield* givenDatabase)
  const sql = Context.get(node, SqlClient.SqlClient)
  const outbox = Context.get(node, WebhookOutbox)
  const put = (appId: string, name: EndpointName, events: ReadonlyArray<EventType> = ["payout.successful"]) =>
    Context.get(node, WebhookEndpoints).put({
      appId: AppId.make(appId),
      mode: "live",
      name,
      url: `https://${appId}.example/${name}`,
      events,
      enabled: true,
      secret: Redacted.make(newSecret()),
      rotatesUntil: null,
      at: 0,
      change: auditEntry()
    })
  /** So many events of each, as money steps write them. */
  const events = (appIds: ReadonlyArray<string>, type: EventType, count: number) =>
    sql`SELECT write_event(app, 'live', NULL, to_timestamp(n), upper(substr(translate(md5(app || ${type} || n), 'ilou', 'jkmn'), 1, 26)), ${type}, '{}')
      FROM unnest(${appIds}::text[]) AS app, generate_series(1, ${count}::int) AS n`
  const claim = (limit: number) => outbox.claimDue(NOW, limit, PER_ENDPOINT, LEASE_MS)
  return { claim, events, outbox, put }
})

const further = ["a", "b", "c", "d"].map((name) => EndpointName.make(name))

describe("fairness beside tenants with several endpoints", () => {
  it.effect("gives five endpoints that hang no more slots than one: they share eight of a mode, and each has one at least", () =>
    Effect.gen(function* () {
      const { claim, events, put } = yield* severalEndpoints
      const hostile = Array.from({ length: HOSTILE }, (_, at) => `hostile-${at}`)
      for (const appId of hostile) for (const name of [DEFAULT_ENDPOINT, ...further]) yield* put(appId, name)
      yield* events(hostile, "payout.successful", 20)
      const held = (yield* Effect.replicateEffect(claim(SLOTS_OF_A_NODE), 3)).flat()
      for (const appId of hostile) {
        const own = held.filter(({ endpoint }) => endpoint.appId === appId)
        expect([own.length, new Set(own.map(({ endpoint }) => endpoint.name)).size]).toEqual([PER_ENDPOINT, further.length + 1])
      }
      yield* put("honest", DEFAULT_ENDPOINT)
      yield* events(["honest"], "payout.successful", EACH)
      const free = yield* claim(SLOTS_OF_A_NODE - held.length)
      expect(free.map(({ endpoint }) => endpoint.appId)).toEqual(Array.from({ length: EACH }, () => "honest"))
    })
  )

  it.effect("leaves the tenant's other endpoint slots of its own, however much one that hangs has waiting", () =>
    Effect.gen(function* () {
      const { claim, events, outbox, put } = yield* severalEndpoints
      const [erp = DEFAULT_ENDPOINT] = further
      yield* put("acme", erp, ["payout.failed"])
      yield* put("acme", DEFAULT_ENDPOINT)
      yield* events(["acme"], "payout.failed", 100)
      expect((yield* Effect.replicateEffect(claim(SLOTS_OF_A_NODE), 2)).flat()).toHaveLength(6)
      yield* events(["acme"], "payout.successful", 6)
      for (let round = 0; round < 3; round++) {
        const claimed = yield* claim(SLOTS_OF_A_NODE)
        expect(claimed.map(({ endpoint }) => endpoint.name)).toEqual([DEFAULT_ENDPOINT, DEFAULT_ENDPOINT])
        for (const delivery of claimed)
          yield* outbox.recordAttempt({ delivery, at: NOW, durationMs: 1, status: 204, excerpt: "" }, { _tag: "Delivered" })
      }
    })
  )
})

import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { describe, expect, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer, Redacted, References } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { DEFAULT_ENDPOINT } from "../../src/domain/WebhookEndpoint.ts"
import { WebhookDeliveries } from "../../src/services/ports/WebhookDeliveries.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import { WebhookOutbox } from "../../src/services/ports/WebhookOutbox.ts"
import { endpointConnection } from "../../src/services/webhooks/EndpointConnection.ts"
import { WebhookDispatcher } from "../../src/services/webhooks/WebhookDispatcher.ts"
import { fakePolicy } from "../../test/fakes/FakePolicy.ts"
import { eventually } from "../../test/support/SignedClient.ts"
import { auditEntry, givenDatabase, givenNode } from "../../test/support/TestDatabase.ts"
import { newReference, newSecret } from "../../test/support/WebhookReceiver.ts"
import { authority } from "./Certificates.ts"
import { kinds } from "./Kinds.ts"
import { openReceiver, type Receiver } from "./Receiver.ts"
import { account } from "./Verdict.ts"

const EVENTS = 6
const RECORDS = 2
const BOUNDS = { nameMs: 400, connectMs: 400, wholeMs: 500 }
const SCHEDULE_MS = [0, 50, 100, 200, 400, 800]

const appIdOf = (index: number) => AppId.make(`tenant-${index}`)

/** Two gateways that deliver, on one database. */
const givenGateways = Effect.gen(function* () {
  const url = yield* givenDatabase
  const nodes = yield* Effect.all([givenNode(url), givenNode(url)])
  for (const node of nodes) {
    const delivering = WebhookDispatcher.layer.pipe(
      Layer.provide(endpointConnection(BOUNDS)),
      Layer.provide(Layer.succeed(WebhookOutbox, Context.get(node, WebhookOutbox))),
      Layer.provide(fakePolicy({ webhookScheduleMs: SCHEDULE_MS }))
    )
    const dispatcher = Context.get(yield* Layer.build(Layer.fresh(delivering)), WebhookDispatcher)
    yield* Effect.forkScoped(dispatcher.run)
  }
  return nodes[0]
})

/** Other files run in this process afterwards. */
const trusting = (certificate: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = getCACertificates("default")
      setDefaultCACertificates([certificate])
      return before
    }),
    (before) => Effect.sync(() => setDefaultCACertificates(before))
  )

const givenReceiver = (kind: (typeof kinds)[number]) =>
  Effect.acquireRelease(
    Effect.promise(() => openReceiver(kind, 20)),
    ({ close }) => Effect.promise(close)
  )

/** Versions 1, 2, … of some records, as money steps would leave them. */
const givenEvents = (sql: SqlClient.SqlClient, appId: AppId) => {
  const events = Array.from({ length: EVENTS }, (_, n) => ({
    id: newReference(),
    body: JSON.stringify({
      data: { reference: `${appId}/${n % RECORDS}`, version: 1 + Math.floor(n / RECORDS), name: "Zoë “J”" }
    })
  }))
  const [ids, bodies] = [events.map(({ id }) => id), events.map(({ body }) => body)]
  return Effect.as(
    sql`WITH made AS (
        INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
        SELECT ${appId}, e.id, 'live', 'payout.successful', NULL, e.body, to_timestamp(e.n)
        FROM unnest(${ids}::text[], ${bodies}::text[]) WITH ORDINALITY AS e(id, body, n) RETURNING *
      ), queued AS (
        INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
        SELECT app_id, id, mode, id, 'due', created_at, created_at FROM made RETURNING *
      )
      INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at) SELECT app_id, mode, next_attempt_at, id, created_at FROM queued`,
    ids
  )
}

describe("receivers that fail", () => {
  it.live(
    `in ${kinds.length} ways get every event once they work, with the same bytes each time`,
    () =>
      Effect.gen(function* () {
        yield* trusting(authority)
        const receivers = yield* Effect.forEach(kinds, givenReceiver)
        const node = yield* givenGateways
        const [sql, endpoints] = [Context.get(node, SqlClient.SqlClient), Context.get(node, WebhookEndpoints)]
        const put = ({ learn, url }: Receiver, index: number) => {
          const secret = newSecret()
          learn(secret)
          const wish = {
            appId: appIdOf(index),
            mode: "live",
            name: DEFAULT_ENDPOINT,
            url,
            events: ["payout.successful"],
            enabled: true
          } as const
          return endpoints.put({ ...wish, secret: Redacted.make(secret), rotatesUntil: null, at: 0, change: auditEntry() })
        }
        const owed = yield* Effect.forEach(kinds, (_, index) => givenEvents(sql, appIdOf(index)))
        yield* Effect.forEach(receivers, put)

        const tried = sql<{ tenants: number }>`SELECT count(DISTINCT app_id)::int AS tenants FROM delivery_attempts`
        yield* eventually(tried, ([row]) => row?.tenants === kinds.length)
        yield* Effect.forEach(receivers, ({ heal }) => Effect.promise(heal))
        // What each tenant can do by itself: enable what was disabled, and ask again for what was parked.
        const gone = receivers.findIndex(({ kind }) => kind.name === "answers 410")
        yield* endpoints.put({
          appId: appIdOf(gone),
          mode: "live",
          name: DEFAULT_ENDPOINT,
          url: receivers[gone]?.url ?? "",
          events: ["payout.successful"],
          enabled: true,
          secret: Redacted.make("unused"),
          rotatesUntil: null,
          at: yield* Clock.currentTimeMillis,
          change: auditEntry()
        })
        yield* eventually(Effect.andThen(redelivered(node), waiting(sql)), (count) => count === 0)

        const last = (index: number) =>
          new Map(Array.from({ length: RECORDS }, (_, n) => [`${appIdOf(index)}/${n}`, EVENTS / RECORDS]))
        const accounts = receivers.map((one, index) => [one.kind.name, account(one, owed[index] ?? [], last(index))] as const)
        expect(Object.fromEntries(accounts)).toEqual(
          Object.fromEntries(
            kinds.map(({ name }) => [
              name,
              {
                events: EVENTS,
                attempts: expect.any(Number),
                lost: 0,
                changed: 0,
                faults: [],
                overtaken: expect.any(Number),
                stale: 0
              }
            ])
          )
        )
        expect(yield* longest(sql)).toEqual([
          { characters: expect.toSatisfy((length) => length <= 4096), late: `no answer within ${BOUNDS.wholeMs} ms` }
        ])
      }).pipe(Effect.provideService(References.MinimumLogLevel, "None")),
    600_000
  )
})

const waiting = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{ count: number }>`SELECT count(*)::int AS count FROM deliveries WHERE status <> 'delivered'`,
    ([row]) => row?.count ?? -1
  )

const redelivered = Effect.fnUntraced(function* (node: Context.Context<SqlClient.SqlClient | WebhookDeliveries>) {
  const parked = yield* Context.get(node, SqlClient.SqlClient)<{ app_id: string; id: string }>`
    SELECT app_id, id FROM deliveries WHERE status = 'parked'`
  for (const { app_id, id } of parked)
    yield* Context.get(node, WebhookDeliveries).redeliver({
      appId: AppId.make(app_id),
      mode: "live",
      endpoint: DEFAULT_ENDPOINT,
      id: Reference.make(id),
      at: 1,
      change: auditEntry()
    })
})

const longest = (sql: SqlClient.SqlClient) =>
  sql`SELECT max(length(excerpt))::int AS characters, max(excerpt) FILTER (WHERE excerpt LIKE 'no answer%') AS late FROM delivery_attempts`

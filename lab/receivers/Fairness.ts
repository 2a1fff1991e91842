import { chmodSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer, Redacted, References } from "effect"
import { SqlClient } from "effect/sql"
import { AppId } from "../../src/domain/Ids.ts"
import { DEFAULT_ENDPOINT } from "../../src/domain/WebhookEndpoint.ts"
import { Database } from "../../src/persistence/Database.ts"
import { EmbeddedPostgres } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import { RandomSourceLive } from "../../src/persistence/vault/RandomSourceLive.ts"
import { VaultPg } from "../../src/persistence/vault/VaultPg.ts"
import { WebhookEndpointsPg } from "../../src/persistence/webhooks/WebhookEndpointsPg.ts"
import { WebhookOutboxPg } from "../../src/persistence/webhooks/WebhookOutboxPg.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import { EndpointConnection } from "../../src/services/webhooks/EndpointConnection.ts"
import { WebhookDispatcher } from "../../src/services/webhooks/WebhookDispatcher.ts"
import { fakePolicy } from "../../test/fakes/FakePolicy.ts"
import { newSecret, receiver } from "../../test/support/WebhookReceiver.ts"

// How late other tenants' events are while one tenant has 50,000 events waiting for an endpoint that hangs, or for one that is slow, beside
// how late they are without it.

const WAITING = 50_000
const OTHERS = 20
const BURSTS = 100
const BURST_EVERY_MS = 100
/** What the slow endpoint needs for each event. */
const SLOW_MS = 2_000
/** The exit code of a run that a signal ended. */
const SIGNALLED = 130

const ports = (url: Redacted.Redacted) =>
  Layer.mergeAll(WebhookOutboxPg, WebhookEndpointsPg).pipe(
    Layer.provideMerge(VaultPg.layer(Redacted.make(Buffer.alloc(32, 7).toString("base64")))),
    Layer.provideMerge(Layer.merge(Database.layer({ url }), RandomSourceLive))
  )

const audit = { at: 0, actor: "bench", action: "bench", subject: "bench", details: {} }

const endpoint = (name: string, url: string) =>
  Effect.flatMap(WebhookEndpoints, (endpoints) => {
    const wish = {
      appId: AppId.make(name),
      mode: "live",
      name: DEFAULT_ENDPOINT,
      url,
      events: ["payout.successful"],
      enabled: true
    } as const
    return endpoints.put({ ...wish, secret: Redacted.make(newSecret()), rotatesUntil: null, at: 0, change: audit })
  })

/** `count` events of each tenant, due now. */
const due = (sql: SqlClient.SqlClient, names: ReadonlyArray<string>, count: number) =>
  sql`WITH made AS (
      INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
      SELECT name, upper(substr(translate(md5(random()::text || name || n), 'ilou', 'jkmn'), 1, 26)), 'live', 'payout.successful', NULL, '{}', clock_timestamp()
      FROM unnest(${names}::text[]) AS name CROSS JOIN generate_series(1, ${count}::int) AS n RETURNING app_id, id, mode, created_at
    ), queued AS (
      INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
      SELECT app_id, id, mode, id, 'due', created_at, created_at FROM made RETURNING *
    )
    INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at) SELECT app_id, mode, next_attempt_at, id, created_at FROM queued`

/** A burst of one event a tenant every so often, until each has arrived; how late they were. */
const phase = Effect.fnUntraced(function* (prefix: string) {
  const sql = yield* SqlClient.SqlClient
  const { url } = yield* receiver((response) => response.writeHead(204).end())
  const names = Array.from({ length: OTHERS }, (_, index) => `${prefix}-${index}`)
  for (const name of names) yield* endpoint(name, url)
  yield* Effect.repeat(Effect.andThen(due(sql, names, 1), Effect.sleep(BURST_EVERY_MS)), { times: BURSTS - 1 })
  const left = sql<{
    left: number
  }>`SELECT count(*)::int AS left FROM deliveries WHERE app_id LIKE ${`${prefix}-%`} AND status = 'due'`
  yield* Effect.repeat(Effect.andThen(Effect.sleep(BURST_EVERY_MS), left), { until: ([row]) => row?.left === 0 })
  const [row] = yield* sql`
    SELECT count(*)::int AS events, max(late)::int AS longest_ms,
      percentile_disc(0.5) WITHIN GROUP (ORDER BY late)::int AS p50_ms, percentile_disc(0.99) WITHIN GROUP (ORDER BY late)::int AS p99_ms
    FROM (SELECT extract(epoch FROM a.at - d.created_at) * 1000 + a.duration_ms AS late FROM deliveries d
      JOIN delivery_attempts a ON a.app_id = d.app_id AND a.delivery_id = d.id WHERE d.app_id LIKE ${`${prefix}-%`}) AS delays`
  return row
})

const bench = Effect.gen(function* () {
  const dispatcher = Context.get(
    yield* Layer.build(WebhookDispatcher.layer.pipe(Layer.provide(EndpointConnection), Layer.provide(fakePolicy({})))),
    WebhookDispatcher
  )
  yield* Effect.forkScoped(dispatcher.run)
  yield* phase("warm")
  const without = yield* phase("without")
  const dead = yield* beside("dead", () => {})
  const slow = yield* beside("slow", (response) => void setTimeout(() => response.writeHead(204).end(), SLOW_MS))
  return { without, beside_dead: dead, beside_slow: slow }
})

/** With `WAITING` events of one more tenant due, whose receiver is no good. */
const beside = Effect.fnUntraced(function* (name: string, answer: Parameters<typeof receiver>[0]) {
  const sql = yield* SqlClient.SqlClient
  const { url } = yield* receiver(answer)
  yield* due(sql, [name], WAITING)
  yield* sql`ANALYZE deliveries`
  yield* endpoint(name, url)
  const others = yield* phase(`beside-${name}`)
  const [row] = yield* sql<{
    count: number
  }>`SELECT count(*)::int AS count FROM deliveries WHERE app_id = ${name} AND status = 'due'`
  yield* sql`DELETE FROM webhook_endpoints WHERE app_id = ${name}`
  return { ...others, still_waiting: row?.count }
}, Effect.scoped)

const dataDir = mkdtempSync(join(tmpdir(), "fairness-"))
// The account that PostgreSQL runs as must reach the cluster in it.
chmodSync(dataDir, 0o711)
const url = EmbeddedPostgres.url(await Effect.runPromise(EmbeddedPostgres.ensureRunning(dataDir)))
const stop = () => Effect.runPromise(EmbeddedPostgres.stop(dataDir))
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void stop().finally(() => process.exit(SIGNALLED)))
try {
  await Effect.runPromise(Effect.provide(Database.migrate, Database.layer({ url })))
  const ran = bench.pipe(Effect.provide(ports(url)), Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  console.log(JSON.stringify(await Effect.runPromise(ran), null, 1))
} finally {
  await stop()
}

import { PgClient } from "@effect/sql-pg"
import { Clock, Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { KeptMs } from "../../src/observability/Gauges.ts"
import { gateway as command } from "../commands/Gateway.ts"
import { fakeRedis } from "../fakes/FakeRedis.ts"
import { type Exposition, readExposition } from "./Exposition.ts"
import { freePort } from "./FreePort.ts"
import { givenStack } from "./Stack.ts"
import { masterKey } from "./TestDatabase.ts"
import { settableClock } from "./WrongClock.ts"

/** A page is as new as what a test has just done. */
const KEPT_MS = 0

/** No bucket is ever empty. */
const NO_LIMIT = 1_000_000_000

/** A gateway as its operators see it: its metrics, its database, their command line. */
export const givenOperated = Effect.fnUntraced(function* (overrides: Record<string, string> = {}) {
  const managementPort = yield* freePort
  const redis = yield* fakeRedis(NO_LIMIT)
  const machine = settableClock(yield* Clock.Clock)
  const stack = yield* givenStack({
    MANAGEMENT_PORT: String(managementPort),
    REDIS_URL: Redacted.value(redis.url),
    ...overrides
  }).pipe(Effect.provideService(KeptMs, KEPT_MS), Effect.provideService(Clock.Clock, machine.clock))
  const { database, simulator } = stack
  const connection = (url: Redacted.Redacted) => PgClient.makeClient({ url }).pipe(Effect.provide(Reactivity.layer))
  const sql = yield* connection(database)
  /** Another connection, to hold locks with. */
  const holder = yield* connection(database)
  /** A connection to the server that is not one to this database. */
  const elsewhere = yield* connection(Redacted.make(Redacted.value(database).replace(/[^/]+$/, "postgres")))
  const name = Redacted.value(database).split("/").at(-1) ?? ""
  const page: Effect.Effect<Exposition> = Effect.promise(async () => {
    const scraped = await fetch(`http://127.0.0.1:${managementPort}/metrics`).then(
      (answer) => answer.text(),
      () => null
    )
    // What Prometheus adds to every scrape.
    const up = `# HELP up Whether the target answered.\n# TYPE up gauge\nup{job="payment-gateway"} ${scraped === null ? 0 : 1}\n`
    return readExposition(`${scraped ?? ""}${up}`)
  })
  const variables = {
    DATABASE_URL: Redacted.value(database),
    MASTER_KEY: Redacted.value(masterKey),
    MANAGEMENT_PORT: String(managementPort),
    ALLOW_SIMULATOR: "true",
    EVERSEND_BASE_URL: simulator.eversendBaseUrl,
    EVERSEND_LIVE_CLIENT_ID: "simulator",
    EVERSEND_LIVE_CLIENT_SECRET: "simulator-secret",
    EVERSEND_LIVE_WEBHOOK_SECRET: "webhook-secret"
  }
  const run = (...args: ReadonlyArray<string>) => command(variables, ...args)
  const setClock = machine.set
  return {
    ...stack,
    sql,
    holder,
    elsewhere,
    name,
    page,
    redis,
    run,
    setClock,
    now: Effect.map(Clock.currentTimeMillis, (ms) => ms / 1000)
  }
})

export type Operated = Effect.Success<ReturnType<typeof givenOperated>>

import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Metric, Option, Ref } from "effect"
import { eventLoop } from "../../src/observability/EventLoop.ts"
import { Management } from "../../src/observability/Management.ts"
import { Metrics } from "../../src/observability/Metrics.ts"
import type { StatusSnapshot } from "../../src/services/ports/GatewayStatus.ts"
import type { Provider } from "../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { fakePolicy } from "../fakes/FakePolicy.ts"
import { readExposition, sampled } from "../support/Exposition.ts"
import { freePort } from "../support/FreePort.ts"

const management = Effect.gen(function* () {
  const port = yield* freePort
  const draining = yield* Ref.make(false)
  const database = yield* Ref.make<Effect.Effect<unknown, unknown>>(Effect.void)
  const obstacle = yield* Ref.make<Effect.Effect<string | null, unknown>>(Effect.succeed(null))
  const looks = yield* Ref.make(0)
  const standing = yield* Ref.make<Effect.Effect<StatusSnapshot, unknown>>(Effect.succeed(picture))
  const options = {
    host: "127.0.0.1",
    port,
    draining: Ref.get(draining),
    database: Effect.flatten(Ref.get(database)),
    obstacles: [Effect.flatten(Ref.get(obstacle))],
    process: Effect.map(yield* eventLoop, (lag) => [lag]),
    standing: Effect.andThen(
      Ref.update(looks, (times) => times + 1),
      Effect.flatten(Ref.get(standing))
    )
  }
  yield* Layer.build(Management.layer(options))
  const get = (path: string) =>
    Effect.promise(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`)
      return { status: answer.status, body: await answer.text() }
    })
  const headersOf = (path: string) => Effect.promise(async () => (await fetch(`http://127.0.0.1:${port}${path}`)).headers)
  return { database, draining, get, headersOf, obstacle, options, looks, standing }
})

const AT = 1_000_000

const picture: StatusSnapshot = {
  at: AT,
  open: [
    {
      kind: "payout",
      mode: "live",
      provider: "eversend",
      age: "10m",
      count: 2,
      unknown: 1,
      acknowledged: 0,
      oldestAt: AT - 120_000,
      oldestUnknownAt: AT - 100_000
    }
  ],
  reviews: { count: 0, acknowledged: 0, oldestAt: null },
  endpointsFailing: 0,
  outbox: { due: 3, parked: 4, oldestAt: AT - 7_000 },
  // Not due yet.
  inbox: { due: 1, parked: 0, oldestAt: AT + 5_000 },
  floats: [{ mode: "live", currency: "UGX", available: 100n, reserved: 900n, receivable: 0n }],
  checks: [
    { name: "ledger verify", subject: "", at: AT, differences: 0 },
    { name: "reconcile", subject: "eversend", at: AT, differences: 2 }
  ],
  unparted: [],
  auditHead: { sequence: 12n, hash: "00000000000affff", authentic: false },
  connections: { idle: 3 }
}

describe("the management port", () => {
  it.live("sends responses that are not cached and whose type is not guessed", () =>
    Effect.gen(function* () {
      const { headersOf } = yield* management
      for (const path of ["/livez", "/readyz", "/metrics", "/nowhere"]) {
        const headers = yield* headersOf(path)
        expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual(["no-store", "nosniff"])
      }
    })
  )

  it.live("is not ready while it cannot serve, and says why", () =>
    Effect.gen(function* () {
      const { get, obstacle } = yield* management
      yield* Ref.set(obstacle, Effect.succeed("the clock of this machine is 660.0 s ahead of the database's"))
      const why = "the clock of this machine is 660.0 s ahead of the database's\n"
      expect(yield* get("/readyz")).toEqual({ status: 503, body: why })
      expect((yield* get("/livez")).status).toBe(200)
      yield* Ref.set(obstacle, Effect.fail("it cannot be told"))
      expect((yield* get("/readyz")).status).toBe(503)
      yield* Ref.set(obstacle, Effect.succeed(null))
      expect(yield* get("/readyz")).toEqual({ status: 200, body: "ok\n" })
    })
  )

  it.live("is alive, and ready as long as the database answers and nothing drains", () =>
    Effect.gen(function* () {
      const { database, draining, get } = yield* management
      expect(yield* get("/livez")).toEqual({ status: 200, body: "ok\n" })
      expect(yield* get("/readyz")).toEqual({ status: 200, body: "ok\n" })
      yield* Ref.set(database, Effect.die(new Error("gone")))
      expect((yield* get("/readyz")).status).toBe(503)
      yield* Ref.set(database, Effect.void)
      yield* Ref.set(draining, true)
      expect(yield* get("/readyz")).toEqual({ status: 503, body: "draining\n" })
      expect((yield* get("/livez")).status).toBe(200)
      expect((yield* get("/health")).status).toBe(404)
    })
  )

  it.live("is not ready when the database does not answer within a second", () =>
    Effect.gen(function* () {
      const { database, get } = yield* management
      yield* Ref.set(database, Effect.never)
      expect((yield* get("/readyz")).status).toBe(503)
    })
  )

  it.live("shows counters and open work on a page that Prometheus can read", () =>
    Effect.gen(function* () {
      const { get } = yield* management
      yield* asked
      const page = readExposition((yield* get("/metrics")).body)
      const value = (name: string, labels: Readonly<Record<string, string>> = {}) => sampled(page, name, labels)
      expect(
        value("gateway_provider_calls_total", { provider: "eversend", mode: "test", call: "ask_payout", outcome: "StillPending" })
      ).toBe(1)
      expect(value("gateway_provider_call_duration_seconds_count", { provider: "eversend", call: "ask_payout" })).toBe(1)
      expect(value("gateway_transactions_open", { kind: "payout", age: "10m" })).toBe(2)
      expect(value("gateway_transactions_open", { kind: "payout", age: "1m" })).toBe(0)
      expect(value("gateway_transactions_unknown", { provider: "eversend" })).toBe(1)
      expect(value("gateway_transactions_unknown_oldest_seconds", { provider: "eversend" })).toBe(100)
      expect(value("gateway_reviews_oldest_seconds")).toBe(0)
      expect(value("gateway_outbox_deliveries", { state: "parked" })).toBe(4)
      expect(value("gateway_outbox_late_seconds")).toBe(7)
      expect(value("gateway_inbox_late_seconds")).toBe(0)
      expect(value("gateway_float_minor", { mode: "live", currency: "UGX", account: "reserved" })).toBe(900)
      expect(value("gateway_audit_head_sequence")).toBe(12)
      expect(value("gateway_audit_head_hash")).toBe(0xa)
      expect(value("gateway_audit_log_broken")).toBe(1)
      expect(value("gateway_ledger_differences")).toBe(0)
      expect(value("gateway_reconcile_differences", { provider: "eversend" })).toBe(2)
      expect(value("gateway_database_up")).toBe(1)
      expect(value("gateway_event_loop_lag_seconds", { quantile: "1" })).toBeGreaterThanOrEqual(0)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.live("asks the database once for concurrent scrapes, and shows no old number when it does not answer", () =>
    Effect.gen(function* () {
      const { get, looks, standing } = yield* management
      yield* Effect.all([get("/metrics"), get("/metrics"), get("/metrics")], { concurrency: "unbounded" })
      expect(yield* Ref.get(looks)).toBe(1)
      const broken = yield* management
      yield* Ref.set(broken.standing, Effect.die(new Error("gone")))
      const without = readExposition((yield* broken.get("/metrics")).body)
      expect(sampled(without, "gateway_database_up")).toBe(0)
      expect(without.has("gateway_transactions_open")).toBe(false)
      yield* Ref.set(broken.standing, Effect.flatten(Ref.get(standing)))
      expect(sampled(readExposition((yield* broken.get("/metrics")).body), "gateway_database_up")).toBe(1)
    })
  )

  it.live("names the setting when its port is in use", () =>
    Effect.gen(function* () {
      const { options } = yield* management
      const exit = yield* Effect.exit(Effect.scoped(Layer.build(Management.layer(options))))
      const error = Exit.isFailure(exit)
        ? exit.cause.reasons.map((reason) => (reason._tag === "Fail" ? reason.error.message : reason._tag))
        : []
      expect(error).toEqual([
        `MANAGEMENT_PORT ${options.port} on 127.0.0.1 cannot be listened on; it is taken, or not ours to take.`
      ])
    })
  )
})

const silent = Effect.succeed({ _tag: "Unknown", reason: "timeout", note: "" } as const)

const provider: Provider = {
  name: "eversend",
  mode: "test",
  guarantees: { clientReference: "none", lookup: "none", callbackAuth: "none", quoteTtlMs: 0, notFoundGraceMs: 0 },
  callbacks: { verify: () => Option.none() },
  payouts: {
    quote: () => Effect.succeed({ _tag: "QuoteRefused", kind: "other", note: "" }),
    send: () => silent,
    fetchStatus: () => Effect.succeed({ _tag: "StillPending", providerReference: null, note: "" })
  }
}

const registry = Layer.succeed(ProviderRegistry, {
  known: ["eversend"],
  find: () => Option.some(provider),
  byRouteKey: () => Option.none(),
  routeKey: () => ""
})

const asked = Effect.gen(function* () {
  const found = Option.getOrThrow((yield* ProviderRegistry).find("eversend", "test"))
  yield* found.payouts?.fetchStatus({
    reference: "R" as never,
    providerReference: null,
    currency: "UGX",
    destinationCurrency: null,
    sentAt: 0
  }) ?? Effect.void
}).pipe(Effect.provide(Metrics.providers.pipe(Layer.provide([registry, fakePolicy()]))))

import { createServer } from "node:http"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Metric, Option, Ref } from "effect"
import { Management } from "../../src/observability/Management.ts"
import { Metrics } from "../../src/observability/Metrics.ts"
import type { Provider } from "../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"

/** A port that was free a moment ago. */
const freePort = Effect.promise(
  () =>
    new Promise<number>((found) => {
      const server = createServer()
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        server.close(() => found(typeof address === "object" ? (address?.port ?? 0) : 0))
      })
    })
)

const management = Effect.gen(function* () {
  const port = yield* freePort
  const draining = yield* Ref.make(false)
  const database = yield* Ref.make<Effect.Effect<unknown, unknown>>(Effect.void)
  const options = {
    host: "127.0.0.1",
    port,
    draining: Ref.get(draining),
    database: Effect.flatten(Ref.get(database)),
    openTransactions: Effect.succeed({ payout: 2, collection: 1 })
  }
  yield* Layer.build(Management.layer(options))
  const get = (path: string) =>
    Effect.promise(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`)
      return { status: answer.status, body: await answer.text() }
    })
  return { database, draining, get, options }
})

describe("Management", () => {
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

  it.live("shows what was counted and what is open", () =>
    Effect.gen(function* () {
      const { get } = yield* management
      yield* asked
      const { body } = yield* get("/metrics")
      expect(body).toContain('provider_calls_total{provider="eversend",call="ask_payout",outcome="StillPending"} 1\n')
      expect(body).toContain(
        '# TYPE open_transactions gauge\nopen_transactions{kind="payout"} 2\nopen_transactions{kind="collection"} 1\n'
      )
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.live("names the setting when its port is taken", () =>
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
  promises: { clientReference: "none", lookup: "none", webhookAuth: "none", quoteTtlMs: 0, notFoundGraceMs: 0 },
  callbacks: { verify: () => Option.none() },
  payouts: {
    quote: () => Effect.succeed({ _tag: "QuoteRefused", kind: "other", note: "" }),
    send: () => silent,
    ask: () => Effect.succeed({ _tag: "StillPending", providerReference: null, note: "" })
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
  yield* found.payouts?.ask({
    reference: "R" as never,
    providerReference: null,
    currency: "UGX",
    destinationCurrency: null,
    sentAt: 0
  }) ?? Effect.void
}).pipe(Effect.provide(Metrics.providers.pipe(Layer.provide(registry))))

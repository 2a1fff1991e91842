import { Effect, Layer, Option, Ref } from "effect"
import { AppId } from "../../src/domain/Ids.ts"
import { eventLoop } from "../../src/observability/EventLoop.ts"
import { clockSkew } from "../../src/observability/Gauges.ts"
import { Management } from "../../src/observability/Management.ts"
import { commitsWaitingFamily, processFamilies } from "../../src/observability/ProcessGauges.ts"
import { observedProviders } from "../../src/observability/ProviderCalls.ts"
import type { StatusSnapshot } from "../../src/services/ports/GatewayStatus.ts"
import type { Provider } from "../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { fakePolicy } from "../fakes/FakePolicy.ts"
import { freePort } from "../support/FreePort.ts"

export const management = Effect.gen(function* () {
  const port = yield* freePort
  const draining = yield* Ref.make(false)
  const database = yield* Ref.make<Effect.Effect<unknown, unknown>>(Effect.void)
  const obstacle = yield* Ref.make<Effect.Effect<string | null, unknown>>(Effect.succeed(null))
  const writes = yield* Ref.make<Effect.Effect<string | null>>(Effect.succeed(null))
  const standstill = yield* Ref.make<Effect.Effect<string | null>>(Effect.succeed(null))
  const noPrimary = yield* Ref.make<string | null>(null)
  const looks = yield* Ref.make(0)
  const standing = yield* Ref.make<Effect.Effect<StatusSnapshot, unknown>>(Effect.succeed(picture))
  const options = {
    host: "127.0.0.1",
    port,
    keepAliveMs: 75_000,
    draining: Ref.get(draining),
    database: Effect.flatten(Ref.get(database)),
    noPrimary: Ref.get(noPrimary),
    standstill: Effect.flatten(Ref.get(standstill)),
    providers: ["eversend", "mtn"],
    conditions: {
      clock_off: Effect.flatten(Ref.get(obstacle)),
      master_key: Effect.succeed(null),
      schema: Effect.succeed(null),
      writes_refused: Effect.flatten(Ref.get(writes))
    },
    process: Effect.map(yield* eventLoop, (lag) => [
      lag,
      clockSkew(3),
      commitsWaitingFamily(false),
      ...processFamilies({ release: "1.0.0", version: "1.0.0+abc" })
    ]),
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
  return { database, draining, get, headersOf, obstacle, noPrimary, options, looks, standing, standstill, writes }
})

export const AT = 1_000_000

export const picture: StatusSnapshot = {
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
  endpointsSlow: 1,
  callbacksRefused: [],
  walletRefusals: [],
  pollsDueSince: AT - 9_000,
  outbox: { due: 3, parked: 4, oldestAt: AT - 7_000 },
  // Not due yet.
  inbox: { due: 1, parked: 0, oldestAt: AT + 5_000 },
  tenantFloats: [{ appId: AppId.make("acme"), mode: "live", currency: "UGX", available: 40n, reserved: 2n, receivable: 0n }],
  floats: [{ mode: "live", currency: "UGX", available: 100n, reserved: 900n, receivable: 0n }],
  checks: [
    { name: "ledger verify", subject: "", at: AT, differences: 0 },
    { name: "reconcile", subject: "eversend", at: AT, differences: 2 }
  ],
  unparted: [],
  floatsAreWhole: true,
  silentServers: [],
  auditHead: { sequence: 12n, hash: "00000000000affff", authentic: false },
  clock: { doubt: null, doubtedAt: null, trustedUntil: AT },
  connections: { idle: 3 },
  database: {
    sizeBytes: 12_000,
    connections: 90,
    connectionsLimit: 97,
    standbys: 1,
    lagSeconds: null,
    archive: { isFailing: true, behindSeconds: 700 },
    commits: [
      { server: "db:5432", synchronousCommit: "on", fsync: "on", fullPageWrites: "on", weakness: null, isThrownAway: false }
    ],
    partitions: [{ name: "journal", aheadSeconds: 86_400 }],
    schema: { newer: [], underWay: [] }
  }
}

const silent = Effect.succeed({ _tag: "Unknown", reason: "timeout", note: "" } as const)

const provider: Provider = {
  name: "eversend",
  mode: "test",
  fingerprints: () => ["one"],
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
  accounts: () => [provider],
  claimed: () => [],
  byRouteKey: () => Option.none(),
  routeKey: () => "",
  keptRouteKeys: () => []
})

export const asked = Effect.gen(function* () {
  const found = Option.getOrThrow((yield* ProviderRegistry).find("eversend", "test"))
  yield* found.payouts?.fetchStatus({
    reference: "R" as never,
    providerReference: null,
    currency: "UGX",
    destinationCurrency: null,
    sentAt: 0
  }) ?? Effect.void
}).pipe(Effect.provide(observedProviders.pipe(Layer.provide([registry, fakePolicy()]))))

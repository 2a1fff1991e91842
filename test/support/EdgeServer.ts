import { Clock, Console, Effect, Layer, Logger, Option, Redacted } from "effect"
import { HttpServer } from "effect/http"
import type { NotFound } from "../../src/domain/errors/Terminal.ts"
import { NotFound as NoSuchThing } from "../../src/domain/errors/Terminal.ts"
import type { Payment } from "../../src/domain/Payment.ts"
import type { RequestSlots } from "../../src/http/edge/ConcurrencyLimit.ts"
import type { ConnectionSlots } from "../../src/http/edge/ConnectionLimit.ts"
import { Server } from "../../src/http/Server.ts"
import { Logs } from "../../src/observability/Logs.ts"
import { RateLimitsMemory } from "../../src/persistence/requests/RateLimitsMemory.ts"
import { TooLate } from "../../src/runtime/TooLate.ts"
import { Authentication } from "../../src/services/admission/Authentication.ts"
import { LimitUses } from "../../src/services/admission/LimitUses.ts"
import { BeneficiaryBook } from "../../src/services/BeneficiaryBook.ts"
import { CodeFlow } from "../../src/services/collections/CodeFlow.ts"
import { CodeRequests } from "../../src/services/collections/CodeRequests.ts"
import { type CollectionCommand, Collections } from "../../src/services/collections/Collections.ts"
import { Exchanges } from "../../src/services/exchanges/Exchanges.ts"
import { FloatWatch } from "../../src/services/FloatWatch.ts"
import { Health } from "../../src/services/Health.ts"
import { PayoutQuotes } from "../../src/services/payouts/PayoutQuotes.ts"
import { type PayoutCommand, Payouts } from "../../src/services/payouts/Payouts.ts"
import { CommitsWaiting } from "../../src/services/ports/CommitsWaiting.ts"
import { type Claim, type Claimed, Idempotency, type StoredResponse } from "../../src/services/ports/Idempotency.ts"
import { Nonces } from "../../src/services/ports/Nonces.ts"
import type { RawCallback } from "../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import type { RateLimit } from "../../src/services/ports/RateLimits.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { Records } from "../../src/services/Records.ts"
import { Capabilities } from "../../src/services/reference/Capabilities.ts"
import { Reference as ReferenceReads } from "../../src/services/reference/Reference.ts"
import { ProviderCallbacks } from "../../src/services/settlement/ProviderCallbacks.ts"
import { Webhooks } from "../../src/services/webhooks/Webhooks.ts"
import { fake } from "../fakes/Fake.ts"
import { fakePolicy } from "../fakes/FakePolicy.ts"
import { fakeNonces } from "../fakes/FakePorts.ts"
import { fakeHash, fakeRandomSource, fakeVault } from "../fakes/FakeVault.ts"
import vectors from "../http/signing-vectors.json" with { type: "json" }
import { frozen } from "./FrozenClock.ts"
import { caller } from "./RawHttp.ts"
import { collection, payout } from "./SampleTransactions.ts"

/** What the services behind the edge were asked, and how they answer; a test overrides only what it is about. */
export interface Behind {
  readonly createPayout: Payouts["Service"]["create"]
  readonly screen: Payouts["Service"]["screen"]
  readonly createCollection: Collections["Service"]["create"]
  readonly receive: ProviderCallbacks["Service"]["receive"]
  readonly payouts: Array<PayoutCommand>
  readonly collections: Array<CollectionCommand>
  /** The collections that were authorized. */
  readonly authorized: Array<string>
  readonly callbacks: Array<RawCallback>
  readonly claims: Map<string, { fingerprint: string; state: Claimed }>
  readonly logs: Array<string>
}

export interface EdgeOptions {
  readonly createPayout?: Payouts["Service"]["create"]
  readonly screen?: Payouts["Service"]["screen"]
  readonly receive?: ProviderCallbacks["Service"]["receive"]
  /** Where it is there, the one key is an admin's. */
  readonly readRaw?: Records["Service"]["readRaw"]
  /** The networks that the one key is held to; none if left out. */
  readonly keyAddresses?: ReadonlyArray<string>
  readonly publicHosts?: ReadonlyArray<string>
  readonly leaseMs?: number
  /** The claims of keys wait for it before they begin. */
  readonly claimsAfter?: Promise<void>
  /** False keeps every nonce good for ever. */
  readonly spendNonces?: boolean
  /** Any free one if left out. */
  readonly port?: number
  /** Whether the database's commits wait for a standby; false if left out. */
  readonly commitsWait?: () => boolean
  /** False where the database says nothing of keys, or that too late. */
  readonly findsKeys?: boolean | "late"
  /** True: `logs` has the lines as a gateway prints them; else their messages, all of them. */
  readonly prints?: boolean
  /** Of reads and of money posts alike; off if left out. */
  readonly rate?: RateLimit
  readonly keptRefusals?: RateLimit
  readonly places?: RequestSlots
  readonly connections?: ConnectionSlots
  /** The test itself if left out. */
  readonly trustedProxies?: ReadonlyArray<string>
  /** How many times as fast as the system's clock sleeps end. */
  readonly haste?: number
  /** Unix milliseconds; the vectors' own moment if left out. */
  readonly now?: number
}

/** A running edge on a free port of the loopback, with nothing but memory behind it. */
export const edge = (options: EdgeOptions = {}) => {
  const behind = remembering(options)
  const rate: RateLimit | "off" = options.rate ?? "off"
  const rateLimits = { reads: rate, money: rate, deliveries: "off" as const }
  const requestSlots = options.places ?? { money: 100, reads: 100 }
  const connectionSlots = options.connections ?? { inAll: 1_000, anAddress: 1_000 }
  const listener = { host: "127.0.0.1", port: options.port ?? 0, connectionSlots, keepAliveDrainMs: 0, keepAliveMs: 75_000 }
  const layer = Server.layer({
    ...listener,
    rateLimits,
    requestSlots,
    trustedProxies: options.trustedProxies ?? ["127.0.0.1"]
  }).pipe(
    Layer.provide(Layer.mergeAll(Authentication.layer, Health.layer({ release: "1.0.0", version: "1.0.0+test" }))),
    Layer.provide(Layer.mergeAll(services(behind, options), ports(options, behind))),
    Layer.provide(
      options.prints === true
        ? printed(behind.logs)
        : Logger.layer([Logger.make(({ message }) => void behind.logs.push(JSON.stringify(message)))])
    ),
    Layer.provide(Layer.succeed(CommitsWaiting, Effect.sync(options.commitsWait ?? (() => false)))),
    Layer.provide(Layer.succeed(Clock.Clock, frozen(options.now ?? vectors.now * 1000, options.haste ?? 1)))
  )
  return { behind, layer }
}

/** As it would be on standard error. */
const printed = (logs: Array<string>) => {
  const error = (text: string) => void logs.push(...text.split("\n"))
  return Logs.layer({ format: "json", level: "Info" }).pipe(
    Layer.provide(Layer.succeed(Console.Console, Object.assign(Object.create(console), { error })))
  )
}

/** The port that the edge took. */
export const port = Effect.map(HttpServer.HttpServer, ({ address }) => ("port" in address ? address.port : 0))

const remembering = (options: EdgeOptions): Behind => {
  const payouts: Array<PayoutCommand> = []
  const collections: Array<CollectionCommand> = []
  const callbacks: Array<RawCallback> = []
  return {
    payouts,
    collections,
    authorized: [],
    callbacks,
    receive: options.receive ?? ((_, __, callback) => Effect.sync(() => (callbacks.push(callback), "stored" as const))),
    claims: new Map(),
    logs: [],
    screen: options.screen ?? (() => Effect.void),
    createPayout:
      options.createPayout ??
      ((_, command, { claim }) =>
        Effect.sync(() => (payouts.push(command), payout({ reference: claim.reference, metadata: command.metadata })))),
    createCollection: (_, command, { claim }) =>
      Effect.sync(() => (collections.push(command), collection({ reference: claim.reference })))
  }
}

const services = (behind: Behind, { readRaw }: EdgeOptions) =>
  Layer.mergeAll(
    fake(BeneficiaryBook, {}),
    fake(FloatWatch, {}),
    fake(Capabilities, {}),
    fake(LimitUses, {}),
    fake(ReferenceReads, {}),
    fake(Exchanges, { find: () => Effect.fail(new NoSuchThing()) }),
    fake(CodeFlow, { authorize: (_, { reference }) => Effect.sync(() => (behind.authorized.push(reference), collection())) }),
    fake(CodeRequests, {}),
    fake(Webhooks, {}),
    fake(PayoutQuotes, {}),
    fake(Payouts, { create: behind.createPayout, windows: () => Effect.succeed([]), screen: behind.screen }),
    fake(Collections, { create: behind.createCollection, windows: () => Effect.succeed([]) }),
    fake(Records, {
      shown: record,
      exists: (_, reference) => Effect.succeed(reference === payout().reference),
      list: () => Effect.succeed({ items: [payout()], next: null }),
      positions: () => Effect.succeed([]),
      ...(readRaw === undefined ? {} : { readRaw }),
      replay: () => Effect.succeed(payout({ status: "successful" }))
    }),
    fake(ProviderCallbacks, {
      knows: (provider, routeKey) => provider === "eversend" && routeKey === "secret-1",
      receive: behind.receive
    })
  )

const record = (_: unknown, reference: string): Effect.Effect<Payment, NotFound> =>
  reference === payout().reference ? Effect.succeed(payout()) : Effect.fail(new NoSuchThing())

const ports = (options: EdgeOptions, behind: Behind) =>
  Layer.mergeAll(tenants(options), fakeVault, policy(options), RateLimitsMemory, fakeRandomSource(), registry).pipe(
    Layer.merge(idempotency(behind.claims, options)),
    Layer.provideMerge(fakeNonces({ spends: options.spendNonces ?? true }))
  )

const keyOf = ({ keyAddresses = [], readRaw }: EdgeOptions) => ({
  caller: readRaw === undefined ? caller : { ...caller, role: "admin" as const },
  addresses: keyAddresses,
  apiKeyHash: fakeHash(keyAddresses.length > 0 ? "limited_api_key" : "api_key", Redacted.make(vectors.api_key)),
  signingSecret: Redacted.make(vectors.signing_secret),
  lastUsedAt: null
})

const tenants = (options: EdgeOptions) =>
  fake(Tenants, {
    find: () => Effect.succeedNone,
    keys: () => Effect.succeed([]),
    noteUse: () => Effect.void,
    signingKey: (appId, keyId) =>
      options.findsKeys === "late"
        ? Effect.die(new TooLate("the keys"))
        : (options.findsKeys ?? true)
          ? Effect.succeed(appId === vectors.app_id && keyId === vectors.key_id ? Option.some(keyOf(options)) : Option.none())
          : Effect.never
  })

const policy = ({ keptRefusals, leaseMs = 90_000, publicHosts = [] }: EdgeOptions) =>
  fakePolicy({ publicHosts, idempotencyLeaseMs: leaseMs, keptRefusals: keptRefusals ?? "off" })

/** A test may look at the claims and change them: the edge opens no transactions. */
const idempotency = (claims: Behind["claims"], { claimsAfter }: EdgeOptions) => {
  const set = (claim: Claim, state: Claimed | null) =>
    Effect.sync(() => {
      const kept = claims.get(claim.scope.key)
      if (kept === undefined) return false
      if (state === null) claims.delete(claim.scope.key)
      else claims.set(claim.scope.key, { ...kept, state })
      return true
    })
  return Layer.unwrap(
    Effect.map(Nonces, ({ spend }) =>
      fake(Idempotency, {
        claim: Effect.fnUntraced(function* ({ fingerprint: print, nonce, scope }) {
          if (claimsAfter !== undefined) yield* Effect.promise(() => claimsAfter)
          if (!(yield* spend(nonce))) return Option.none()
          const fingerprint = Buffer.from(print).toString("hex")
          const kept = claims.get(scope.key)
          if (kept !== undefined) return Option.some<Claimed>(kept.fingerprint === fingerprint ? kept.state : { _tag: "Reused" })
          claims.set(scope.key, { fingerprint, state: { _tag: "Busy" } })
          const claim = { scope, fence: 1n, reference: payout().reference, leaseUntil: Number.POSITIVE_INFINITY }
          return Option.some<Claimed>({ _tag: "Fresh", claim, tenant: null, windows: [] })
        }),
        complete: (claim, response: StoredResponse) => set(claim, { _tag: "Replay", response }),
        release: (claim) => set(claim, null)
      })
    )
  )
}

const registry = Layer.succeed(ProviderRegistry, {
  known: ["eversend", "mtn"],
  find: () => Option.none(),
  accounts: () => [],
  claimed: () => [],
  byRouteKey: () => Option.none(),
  routeKey: () => "",
  keptRouteKeys: () => []
})

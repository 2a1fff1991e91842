import { createHmac } from "node:crypto"
import { Clock, Effect, Layer, Logger, Option, Redacted } from "effect"
import { HttpServer } from "effect/http"
import type { NotFound } from "../../src/domain/errors/Terminal.ts"
import { NotFound as NoSuchThing } from "../../src/domain/errors/Terminal.ts"
import { AppId, type Reference, referenceFrom } from "../../src/domain/Ids.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import type { RequestPlaces } from "../../src/http/ConcurrencyLimit.ts"
import type { ConnectionPlaces } from "../../src/http/ConnectionLimit.ts"
import { Server } from "../../src/http/Server.ts"
import { RateLimitsMemory } from "../../src/persistence/RateLimitsMemory.ts"
import { Authentication } from "../../src/services/admission/Authentication.ts"
import { type CollectionCommand, Collections } from "../../src/services/collections/Collections.ts"
import { Health } from "../../src/services/Health.ts"
import { type PayoutCommand, Payouts } from "../../src/services/payouts/Payouts.ts"
import { type Claim, type Claimed, Idempotency, type StoredResponse } from "../../src/services/ports/Idempotency.ts"
import { Identifiers } from "../../src/services/ports/Identifiers.ts"
import { Nonces } from "../../src/services/ports/Nonces.ts"
import { Policy } from "../../src/services/ports/Policy.ts"
import type { RawCallback } from "../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import type { RateLimit } from "../../src/services/ports/RateLimits.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { Vault } from "../../src/services/ports/Vault.ts"
import { Records } from "../../src/services/Records.ts"
import { Ingress } from "../../src/services/settlement/Ingress.ts"
import vectors from "../http/signing-vectors.json" with { type: "json" }
import { frozen } from "./FrozenClock.ts"
import { collection, payout } from "./SampleTransactions.ts"
import { unused, unusedServices } from "./UnusedServices.ts"

/** What the services behind the edge were asked, and how they answer; a test overrides only what it is about. */
export interface Behind {
  readonly createPayout: Payouts["Service"]["create"]
  readonly createCollection: Collections["Service"]["create"]
  readonly payouts: Array<PayoutCommand>
  readonly collections: Array<CollectionCommand>
  readonly callbacks: Array<RawCallback>
  readonly claims: Map<string, { fingerprint: string; state: Claimed }>
  readonly logs: Array<string>
}

export interface EdgeOptions {
  readonly createPayout?: Payouts["Service"]["create"]
  readonly publicHosts?: ReadonlyArray<string>
  readonly leaseMs?: number
  /** False keeps every nonce good for ever. */
  readonly spendNonces?: boolean
  /** Any free one if left out. */
  readonly port?: number
  /** Of reads and of money posts alike; off if left out. */
  readonly rate?: RateLimit
  readonly keptRefusals?: RateLimit
  readonly places?: RequestPlaces
  readonly connections?: ConnectionPlaces
  /** The test itself if left out. */
  readonly trustedProxies?: ReadonlyArray<string>
  /** How many times as fast as the system's clock sleeps end. */
  readonly haste?: number
  /** Unix milliseconds; the vectors' own moment if left out. */
  readonly now?: number
}

export const caller = { appId: AppId.make(vectors.app_id), keyId: vectors.key_id, mode: "live", role: "tenant" } as const

/** A running edge on a free port of the loopback, with nothing but memory behind it. */
export const edge = (options: EdgeOptions = {}) => {
  const behind = remembering(options)
  const rate: RateLimit | "off" = options.rate ?? "off"
  const rateLimits = { reads: rate, money: rate, deliveries: "off" as const }
  const requestPlaces = options.places ?? { money: 100, reads: 100 }
  const connectionPlaces = options.connections ?? { inAll: 1_000, anAddress: 1_000 }
  const listener = { host: "127.0.0.1", port: options.port ?? 0, connectionPlaces }
  const layer = Server.layer({
    ...listener,
    rateLimits,
    requestPlaces,
    trustedProxies: options.trustedProxies ?? ["127.0.0.1"]
  }).pipe(
    Layer.provide(Layer.mergeAll(Authentication.layer, Health.layer({ release: "1.0.0", version: "1.0.0+test" }))),
    Layer.provide(Layer.mergeAll(services(behind), ports(options, behind))),
    Layer.provide(Logger.layer([Logger.make(({ message }) => void behind.logs.push(JSON.stringify(message)))])),
    Layer.provide(Layer.succeed(Clock.Clock, frozen(options.now ?? vectors.now * 1000, options.haste ?? 1)))
  )
  return { behind, layer }
}

/** The port that the edge took. */
export const port = Effect.map(HttpServer.HttpServer, ({ address }) => ("port" in address ? address.port : 0))

const remembering = (options: EdgeOptions): Behind => {
  const payouts: Array<PayoutCommand> = []
  const collections: Array<CollectionCommand> = []
  return {
    payouts,
    collections,
    callbacks: [],
    claims: new Map(),
    logs: [],
    createPayout:
      options.createPayout ??
      ((_, command, claim) =>
        Effect.sync(() => (payouts.push(command), payout({ reference: claim.reference, metadata: command.metadata })))),
    createCollection: (_, command, claim) =>
      Effect.sync(() => (collections.push(command), collection({ reference: claim.reference })))
  }
}

const services = (behind: Behind) =>
  Layer.mergeAll(
    unusedServices,
    Layer.succeed(Payouts, Payouts.of({ create: behind.createPayout, quote: () => unused("quote") })),
    Layer.succeed(Collections, Collections.of({ create: behind.createCollection })),
    Layer.succeed(
      Records,
      Records.of({
        transaction: record,
        readRaw: () => unused("inspect"),
        exists: (_, reference) => Effect.succeed(reference === payout().reference),
        list: () => Effect.succeed({ items: [payout()], next: null }),
        positions: () => Effect.succeed([]),
        replay: () => Effect.succeed(payout({ status: "successful" }))
      })
    ),
    Layer.succeed(
      Ingress,
      Ingress.of({
        knows: (provider, routeKey) => provider === "eversend" && routeKey === "secret-1",
        receive: (_, __, callback) => Effect.sync(() => (behind.callbacks.push(callback), "stored" as const)),
        round: Effect.succeed(0),
        run: Effect.never
      })
    )
  )

const record = (_: unknown, reference: string): Effect.Effect<Transaction, NotFound> =>
  reference === payout().reference ? Effect.succeed(payout()) : Effect.fail(new NoSuchThing())

const hash = (purpose: string, text: Redacted.Redacted) =>
  createHmac("sha256", "test")
    .update(`${purpose}|${Redacted.value(text)}`)
    .digest()

const ports = (options: EdgeOptions, behind: Behind) =>
  Layer.mergeAll(
    tenants,
    Layer.succeed(Nonces, nonces(options.spendNonces ?? true)),
    Layer.succeed(Vault, vault),
    Layer.succeed(Policy, policy(options)),
    RateLimitsMemory,
    Layer.succeed(Identifiers, identifiers()),
    Layer.succeed(Idempotency, idempotency(behind.claims)),
    Layer.succeed(ProviderRegistry, registry)
  )

const key = {
  caller,
  apiKeyHash: hash("api_key", Redacted.make(vectors.api_key)),
  signingSecret: Redacted.make(vectors.signing_secret)
}

const tenants = Layer.mock(Tenants, {
  signingKey: (appId, keyId) =>
    Effect.succeed(appId === vectors.app_id && keyId === vectors.key_id ? Option.some(key) : Option.none())
})

const nonces = (spends: boolean) => {
  const spent = new Set<string>()
  return Nonces.of({
    spend: (_, nonce) => Effect.sync(() => !spends || (!spent.has(nonce) && spent.add(nonce).size > 0)),
    prune: () => Effect.succeed(0)
  })
}

const vault = Vault.of({
  seal: () => unused("seal"),
  open: () => unused("open"),
  sealDestination: () => unused("sealDestination"),
  openDestination: () => unused("openDestination"),
  hash
})

const policy = (options: EdgeOptions) =>
  Policy.of({
    publicHosts: options.publicHosts ?? [],
    signatureMaxAgeSeconds: 120,
    signatureMaxAheadSeconds: 30,
    nonceKeptSeconds: 180,
    idempotencyLeaseMs: options.leaseMs ?? 90_000,
    providerTimeoutMs: 15_000,
    pollSchedule: { open: [15_000] },
    collectionExpiryMs: 900_000,
    redirectExpiryMs: 3_600_000,
    otpExpiryMs: 600_000,
    notFoundGraceMs: 600_000,
    notFoundCount: 3,
    webhookScheduleMs: [0],
    webhookAllowLoopback: true,
    keptRefusals: options.keptRefusals ?? "off",
    circuit: { failures: 20, openMs: 1_000 },
    testCeilings: {} as never
  })

const identifiers = () => {
  let made = 0
  const next = Effect.sync(
    (): Reference => referenceFrom(Uint8Array.from({ length: 26 }, (_, at) => (at < 24 ? 1 : (made++ + at) % 32)))
  )
  return Identifiers.of({ reference: next, secret: () => unused("secret") })
}

const idempotency = (claims: Behind["claims"]) => {
  const set = (claim: Claim, state: Claimed | null) =>
    Effect.sync(() => {
      const kept = claims.get(claim.scope.key)
      if (kept === undefined) return false
      if (state === null) claims.delete(claim.scope.key)
      else claims.set(claim.scope.key, { ...kept, state })
      return true
    })
  return Idempotency.of({
    claim: (scope, print) =>
      Effect.sync((): Claimed => {
        const fingerprint = Buffer.from(print).toString("hex")
        const kept = claims.get(scope.key)
        if (kept === undefined) {
          claims.set(scope.key, { fingerprint, state: { _tag: "Busy" } })
          return { _tag: "Fresh", claim: { scope, fence: 1n, reference: payout().reference } }
        }
        return kept.fingerprint === fingerprint ? kept.state : { _tag: "Reused" }
      }),
    complete: (claim, response: StoredResponse) => set(claim, { _tag: "Replay", response }),
    release: (claim) => set(claim, null),
    prune: () => Effect.succeed(0)
  })
}

const registry = ProviderRegistry.of({
  known: ["eversend", "mtn"],
  find: () => Option.none(),
  byRouteKey: () => Option.none(),
  routeKey: () => ""
})

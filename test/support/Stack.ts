import { randomBytes } from "node:crypto"
import { rm } from "node:fs/promises"
import { PgClient } from "@effect/sql-pg"
import { Clock, Context, Effect, Layer, Redacted, Schema, type Scope } from "effect"
import { HttpServer } from "effect/http"
import { Reactivity } from "effect/reactivity"
import { expect } from "vitest"
import * as App from "../../src/App.ts"
import type { Corridor } from "../../src/domain/Corridor.ts"
import type { Currency } from "../../src/domain/Currency.ts"
import { defaultSubscription, type EventType } from "../../src/domain/Event.ts"
import { AppId, type Mode } from "../../src/domain/Ids.ts"
import { credit, debit } from "../../src/domain/Ledger.ts"
import { minor } from "../../src/domain/Money.ts"
import {
  apiKeyPurpose,
  defaultCapabilities,
  type KeyTerms,
  noTerms,
  type Role,
  type Tenant as TenantRow
} from "../../src/domain/Tenant.ts"
import { DEFAULT_ENDPOINT, type EndpointName } from "../../src/domain/WebhookEndpoint.ts"
import { Corridors } from "../../src/services/ports/Corridors.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { LedgerVerification } from "../../src/services/ports/LedgerVerification.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { Vault } from "../../src/services/ports/Vault.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import { knownSimulators, withSimulators } from "../../src/simulator/Registry.ts"
import { type Running, startSimulator } from "../simulator/eversend/SimulatorFixture.ts"
import { checkEvent } from "./InterfaceDescription.ts"
import { patiently } from "./PatientClock.ts"
import { asRuntime } from "./Postgres.ts"
import { NOON } from "./SampleTransactions.ts"
import { client, eventually, type Key } from "./SignedClient.ts"
import { auditEntry, givenDatabase, masterKey } from "./TestDatabase.ts"
import { type Received, receiver } from "./WebhookReceiver.ts"

const BUILD = { release: "1.0.0", version: "1.0.0+test" }

/** Fast where the contract lets time decide; everything else is as in production. */
export const nodeVariables = (url: Redacted.Redacted, baseUrl: string, overrides: Record<string, string>) => ({
  DATABASE_URL: Redacted.value(url),
  MASTER_KEY: Redacted.value(masterKey),
  ALLOW_SIMULATOR: "true",
  PORT: "0",
  MANAGEMENT_PORT: "0",
  KEEP_ALIVE_DRAIN: "0s",
  LOG_LEVEL: "off",
  LOG_FORMAT: "json",
  EVERSEND_BASE_URL: baseUrl,
  EVERSEND_LIVE_CLIENT_ID: "simulator",
  EVERSEND_LIVE_CLIENT_SECRET: "simulator-secret",
  EVERSEND_LIVE_WEBHOOK_SECRET: "webhook-secret",
  EVERSEND_TEST_CLIENT_ID: "other",
  EVERSEND_TEST_CLIENT_SECRET: "other-secret",
  EVERSEND_TEST_WEBHOOK_SECRET: "webhook-secret",
  PROVIDER_TIMEOUT_MS: "1000",
  // A crowd on a slow machine runs out of so short a time together: that is no provider that has gone.
  CIRCUIT_FAILURES: "500",
  RECONCILER_SCHEDULE: "300ms,600ms,1s",
  WEBHOOK_ALLOW_LOOPBACK: "true",
  WEBHOOK_SCHEDULE: "0s,1s,2s",
  ...overrides
})

/** One gateway process on a database and a simulator, and a tenant's own client. */
export const gatewayOn = Effect.fnUntraced(function* (
  database: Redacted.Redacted,
  simulator: Running,
  overrides: Record<string, string> = {}
) {
  const own = asRuntime(database)
  const environment = Layer.succeed(App.Environment, nodeVariables(own, simulator.eversendBaseUrl, overrides))
  const settings = yield* Effect.provide(App.settings, environment)
  const simulated = withSimulators(settings, (provider) => simulator.baseUrls[provider] ?? "").providers
  const providers = simulated.filter(({ name }) => simulator.baseUrls[name] !== undefined)
  const ready = { ...settings, providers, databaseUrl: own, ownerUrl: null, databaseFolder: null, masterKey }
  const context = yield* patiently(Layer.build(Layer.fresh(App.gateway(ready, BUILD)).pipe(Layer.provide(environment))))
  const { address } = Context.get(context, HttpServer.HttpServer)
  const port = "port" in address ? address.port : 0
  const registry = Context.get(context, ProviderRegistry)
  for (const accounts of providers) {
    const { name } = accounts
    for (const mode of ["live", "test"] as const) {
      const url = `http://127.0.0.1:${port}/webhooks/${name}/${registry.routeKey(name, mode)}`
      const client_id = knownSimulators.find((known) => known.name === name)?.accountName(accounts, mode)
      yield* Effect.promise(() => simulator.control("POST", "/callbacks", { provider: name, client_id, url }))
    }
  }
  return { context, settings: ready, url: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}` }
})

export type Gateway = Effect.Success<ReturnType<typeof gatewayOn>>

interface TenantWish extends Partial<Pick<TenantRow, "status" | "capabilities">> {
  readonly mode?: Mode
  readonly currency?: Currency
}

/** Whose float, events and records: they are separate for each mode. */
interface Holder {
  readonly appId: AppId
  readonly mode: Mode
}

/** A tenant with float, and a signed client for it. */
export const tenantOn = Effect.fnUntraced(function* (gateway: Gateway, float = 100_000n, wish: TenantWish = {}) {
  const { capabilities = defaultCapabilities, currency = "UGX", mode = "live", status = "active" } = wish
  const appId = AppId.make(`t-${randomBytes(6).toString("hex")}`)
  yield* Context.get(gateway.context, Tenants).create({ appId, status, capabilities, createdAt: NOON }, auditEntry())
  const tenant = yield* keyOn(gateway, appId, mode)
  if (float > 0n) yield* creditOn(gateway, tenant, float, currency)
  return tenant
})

interface KeyWish extends Partial<KeyTerms> {
  readonly role?: Role
}

/** Another key of a tenant, and a client that signs with it. */
export const keyOn = Effect.fnUntraced(function* (
  gateway: Gateway,
  appId: AppId,
  mode: Mode,
  { role = "tenant", ...terms }: KeyWish = {}
) {
  const { context } = gateway
  const [keyId = "", apiKey = "", secret = ""] = ["k", "ak", "ss"].map((kind) => `${kind}_${randomBytes(8).toString("hex")}`)
  const key: Key = { appId, keyId, apiKey, secret }
  yield* Context.get(context, Tenants).issueKey(
    {
      caller: { appId, keyId, mode, role },
      ...noTerms,
      ...terms,
      apiKeyHash: Context.get(context, Vault).hash(apiKeyPurpose(role, { ...noTerms, ...terms }), Redacted.make(apiKey)),
      signingSecret: Redacted.make(secret),
      createdAt: NOON
    },
    auditEntry()
  )
  return { appId, key, mode, ...client(gateway, key) }
})

/** An operator's adjustment of a float, under this external id. */
export const adjustOn = (
  { context }: Gateway,
  { appId, mode }: Holder,
  { amount, currency = "UGX", direction, externalId }: Adjusting
) =>
  Context.get(context, FloatLedger).adjust({
    appId,
    mode,
    currency,
    direction,
    amount: minor(amount),
    externalId,
    note: "the operator's own words",
    at: Date.now(),
    entry: direction === "credit" ? credit(currency, minor(amount)) : debit(currency, minor(amount)),
    audit: auditEntry()
  })

interface Adjusting {
  readonly direction: "credit" | "debit"
  readonly amount: bigint
  readonly externalId: string
  readonly currency?: Currency
}

export const creditOn = ({ context }: Gateway, { appId, mode }: Holder, amount: bigint, currency: Currency = "UGX") =>
  Context.get(context, FloatLedger).adjust({
    appId,
    mode,
    currency,
    direction: "credit",
    amount: minor(amount),
    externalId: `given-${randomBytes(6).toString("hex")}`,
    note: "given",
    at: NOON,
    entry: credit(currency, minor(amount)),
    audit: auditEntry()
  })

interface CorridorName {
  readonly country: string
  readonly method: string
  readonly direction?: Corridor["direction"]
}

/** A corridor changed as an operator would. */
export const changeCorridor = Effect.fnUntraced(function* (
  { context }: Gateway,
  { country, direction = "payout", method }: CorridorName,
  change: Partial<Corridor>
) {
  const corridors = Context.get(context, Corridors)
  const row = (yield* corridors.list).find(
    (one) => one.country === country && one.method === method && one.direction === direction
  )
  if (row !== undefined) yield* corridors.put({ ...row, ...change }, auditEntry())
})

/** Where a tenant receives its webhooks; `answer` decides the status of each attempt, counted from 1. `newer`: see `checkEvent`. */
export const webhooksOf = Effect.fnUntraced(function* (
  gateway: Gateway,
  tenant: Holder & { readonly newer?: ReadonlyArray<string>; readonly endpoint?: EndpointName },
  events: ReadonlyArray<EventType> = defaultSubscription,
  answer: (attempt: number) => number = () => 204
) {
  const received: Array<Received> = []
  const hook = yield* receiver((response, one) => response.writeHead(answer(received.push(one))).end())
  const secret = `whsec_${randomBytes(32).toString("base64")}`
  yield* Context.get(gateway.context, WebhookEndpoints).put({
    appId: tenant.appId,
    mode: tenant.mode,
    name: tenant.endpoint ?? DEFAULT_ENDPOINT,
    url: hook.url,
    events,
    enabled: true,
    secret: Redacted.make(secret),
    rotatesUntil: null,
    at: yield* Clock.currentTimeMillis,
    change: auditEntry()
  })
  const count = (wanted: number) =>
    eventually(
      Effect.sync(() => received),
      ({ length }) => length >= wanted
    ).pipe(Effect.tap((all) => Effect.sync(() => all.forEach(({ body }) => checkEvent(body, tenant.newer)))))
  /** The types of the events that have come, once there are so many. */
  const types = (wanted: number) =>
    Effect.map(count(wanted), (all): ReadonlyArray<string> => all.map(({ body }) => JSON.parse(body).type))
  return { url: hook.url, secret, received, count, types }
})

/** Recomputes the whole ledger: no test may leave a difference behind. */
export const verified = ({ context }: Gateway) => Context.get(context, LedgerVerification).verify

/** What stories of one gateway end with, once for all of them: each look at the ledger is at the whole of it. */
export const ledgerVerifies = Effect.gen(function* () {
  const { gateway } = yield* Stack
  expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
})

/** A connection of somebody who owns the database, and so can do what no gateway can. */
export const asOwner = (database: Redacted.Redacted) =>
  PgClient.makeClient({ url: database }).pipe(Effect.orDie, Effect.provide(Reactivity.layer))

export const executionsOf = (simulator: Running, reference: string) => Effect.promise(() => simulator.executions(reference))

/** What the provider was called, as "POST /v1/payouts"; all of them, or those that name the reference. */
export const callsOf = (simulator: Running, reference?: string) =>
  Effect.map(
    Effect.promise(() => simulator.control("GET", `/calls${reference === undefined ? "" : `?reference=${reference}`}`)),
    ({ json }) => decodeCalls(json).map(({ method, path }) => `${method} ${path.split("?")[0]}`)
  )

/** The same without the poller's questions, which may be about what another test of the same stack sent. */
export const requestsTo = (simulator: Running) =>
  Effect.map(callsOf(simulator), (calls) => calls.filter((call) => !call.startsWith("GET /v1/transactions")))

const decodeCalls = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ method: Schema.String, path: Schema.String })))

/** Waits until the provider was asked so often about a transaction, by our reference or by its own. */
export const asked = Effect.fnUntraced(function* (simulator: Running, reference: string, times: number) {
  const [own] = yield* Effect.promise(() => simulator.search(reference))
  const byOwn = own === undefined ? [] : [own.transactionId]
  // The search just made was a call too.
  const calls = Effect.forEach([reference, ...byOwn], (one) => callsOf(simulator, one)).pipe(
    Effect.map((lists) => lists.flat().filter((call) => call.startsWith("GET /v1/transactions")).length - 1)
  )
  yield* eventually(calls, (count) => count >= times)
})

/** What a stack plays and serves beside Eversend: every other provider that the program knows. */
export const everyOther = knownSimulators
  .filter(({ name }) => name !== "eversend")
  .map(({ accounts, simulated }) => simulated(accounts({ baseUrl: "", timeoutMs: 0 })))

interface StackParts {
  readonly database: Redacted.Redacted
  readonly simulator: Running
  readonly gateway: Gateway
}

/** A stack of its own: database, simulator and one gateway, for as long as the scope lives. */
export const givenStack = Effect.fnUntraced(function* (
  overrides: Record<string, string> | ((simulator: Running) => Record<string, string>) = {},
  wish: Parameters<typeof startSimulator>[0] = {},
  made: Effect.Effect<Redacted.Redacted> = givenDatabase
): Effect.fn.Return<StackParts, never, Scope.Scope> {
  const database = yield* made
  const simulator = yield* Effect.acquireRelease(
    Effect.promise(() => startSimulator(wish)),
    (running) => Effect.promise(() => running.stop().then(() => rm(running.dataDir, { recursive: true, force: true })))
  )
  const given = typeof overrides === "function" ? overrides(simulator) : overrides
  const gateway = yield* Effect.orDie(gatewayOn(database, simulator, given))
  return { database, simulator, gateway }
})

/** One stack for the stories of a file that do not disturb each other. */
export class Stack extends Context.Service<Stack, StackParts>()("test/Stack") {
  static readonly layer = (...given: Parameters<typeof givenStack>) => Layer.effect(Stack, givenStack(...given))
}

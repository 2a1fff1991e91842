import { createHash, createHmac, randomBytes } from "node:crypto"
import { Context, Effect, Layer, Option, Redacted, type Scope } from "effect"
import { HttpServer } from "effect/http"
import * as App from "../../src/App.ts"
import { AppId } from "../../src/domain/Ids.ts"
import { credit } from "../../src/domain/Ledger.ts"
import { minor } from "../../src/domain/Money.ts"
import { signedText } from "../../src/domain/SignedText.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { LedgerAudit } from "../../src/services/ports/LedgerAudit.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { Vault } from "../../src/services/ports/Vault.ts"
import { WebhookOutbox } from "../../src/services/ports/WebhookOutbox.ts"
import { defaultSubscription } from "../../src/domain/Event.ts"
import { defaultCapabilities } from "../../src/domain/Tenant.ts"
import { eventually, type Running, startSimulator } from "../providers/EversendBench.ts"
import { receiver } from "../services/WebhookBench.ts"
import { NOON } from "./Given.ts"
import { auditEntry, givenDatabase, masterKey } from "./GivenDatabase.ts"

const BUILD = { release: "1.0.0", version: "1.0.0+test" }

/** Fast where the contract lets time decide; everything else is as in production. */
const variables = (url: Redacted.Redacted, baseUrl: string, overrides: Record<string, string>) => ({
  DATABASE_URL: Redacted.value(url),
  MASTER_KEY: Redacted.value(masterKey),
  ALLOW_SIMULATOR: "true",
  PORT: "0",
  MANAGEMENT_PORT: "0",
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
  RECONCILER_SCHEDULE: "300ms,600ms,1s",
  WEBHOOK_ALLOW_LOOPBACK: "true",
  WEBHOOK_SCHEDULE: "0s,1s,2s",
  ...overrides
})

export interface Key {
  readonly appId: string
  readonly keyId: string
  readonly apiKey: string
  readonly secret: string
}

export interface Answer {
  readonly status: number
  readonly text: string
  readonly body: { readonly code: number; readonly data: Record<string, never>; readonly error: Record<string, never> }
  readonly headers: Headers
}

/** One gateway process on a database and a simulator, and a tenant's own client. */
export const gatewayOn = Effect.fnUntraced(function* (database: Redacted.Redacted, simulator: Running, overrides: Record<string, string> = {}) {
  const environment = Layer.succeed(App.Environment, variables(database, simulator.eversendBaseUrl, overrides))
  const settings = yield* Effect.provide(App.settings, environment)
  const ready = { ...settings, databaseUrl: database, masterKey }
  const context = yield* Layer.build(Layer.fresh(App.gateway(ready, BUILD)).pipe(Layer.provide(environment)))
  const { address } = Context.get(context, HttpServer.HttpServer)
  const port = "port" in address ? address.port : 0
  const routeKey = (mode: "live" | "test") => Context.get(context, ProviderRegistry).routeKey("eversend", mode)
  for (const [mode, clientId] of [["live", "simulator"], ["test", "other"]] as const) {
    const url = `http://127.0.0.1:${port}/webhooks/eversend/${routeKey(mode)}`
    yield* Effect.promise(() => simulator.control("POST", "/callbacks", { provider: "eversend", client_id: clientId, url }))
  }
  return { context, url: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}` }
})

export type Gateway = Effect.Success<ReturnType<typeof gatewayOn>>

/** A tenant with float in UGX, and a signed client for it. */
export const tenantOn = Effect.fnUntraced(function* (gateway: Gateway, float = 100_000n, mode: "live" | "test" = "live") {
  const appId = AppId.make(`t-${randomBytes(6).toString("hex")}`)
  const { context } = gateway
  const key: Key = { appId, keyId: "k_1", apiKey: `ak_${randomBytes(8).toString("hex")}`, secret: `ss_${randomBytes(8).toString("hex")}` }
  yield* Context.get(context, Tenants).create({ appId, status: "active", capabilities: defaultCapabilities, createdAt: NOON }, auditEntry())
  yield* Context.get(context, Tenants).issueKey(
    {
      caller: { appId, keyId: key.keyId, mode, role: "tenant" },
      apiKeyHash: Context.get(context, Vault).hash("api_key", Redacted.make(key.apiKey)),
      signingSecret: Redacted.make(key.secret),
      createdAt: NOON
    },
    auditEntry()
  )
  if (float > 0n) {
    yield* Context.get(context, FloatLedger).adjust({
      appId,
      mode,
      currency: "UGX",
      direction: "credit",
      amount: minor(float),
      externalId: "given",
      note: "given",
      at: NOON,
      entry: credit("UGX", minor(float)),
      audit: auditEntry()
    })
  }
  return { appId, key, mode, ...client(gateway, key) }
})

export const client = (gateway: Pick<Gateway, "url" | "host">, key: Key) => {
  const call = (method: string, target: string, body?: unknown, headers: Record<string, string> = {}) =>
    Effect.promise(async (): Promise<Answer> => {
      const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body)
      const answer = await fetch(`${gateway.url}${target}`, {
        method,
        headers: { "content-type": "application/json", ...signed(gateway.host, key, method, target, text), ...headers },
        ...(text === "" ? {} : { body: text })
      })
      const received = await answer.text()
      return { status: answer.status, text: received, body: JSON.parse(received), headers: answer.headers }
    })
  const post = (target: string, body: unknown, idempotencyKey: string = randomBytes(9).toString("hex")) =>
    call("POST", target, body, { "idempotency-key": idempotencyKey })
  const get = (target: string) => call("GET", target)
  const until = (target: string, wanted: (data: Record<string, unknown>) => boolean) =>
    Effect.map(
      Effect.promise(() => eventually(() => Effect.runPromise(get(target)), ({ body }) => body.data !== undefined && wanted(body.data))),
      ({ body }) => body.data
    )
  const float = Effect.map(get("/v1/float"), ({ text }): Record<string, number> => JSON.parse(text).data[0] ?? {})
  return { call, post, get, until, float }
}

export const signed = (host: string, key: Key, method: string, target: string, body: string, at = Math.floor(Date.now() / 1000)) => {
  const nonce = randomBytes(12).toString("hex")
  const text = signedText({
    appId: key.appId,
    keyId: key.keyId,
    host,
    method,
    target,
    timestamp: String(at),
    nonce,
    bodyHash: createHash("sha256").update(method === "GET" || method === "DELETE" ? "" : body).digest("hex")
  })
  return {
    "x-gateway-key": `${key.appId}.${key.keyId}.${key.apiKey}`,
    "x-gateway-timestamp": String(at),
    "x-gateway-nonce": nonce,
    "x-gateway-signature": `v1=${createHmac("sha256", key.secret).update(Option.getOrThrow(text)).digest("hex")}`
  }
}

/** Where a tenant receives its webhooks. */
export const webhooksOf = Effect.fnUntraced(function* (gateway: Gateway, tenant: { readonly appId: AppId; readonly mode: "live" | "test" }, events = defaultSubscription) {
  const hook = yield* receiver((response) => response.writeHead(204).end())
  const secret = `whsec_${randomBytes(32).toString("base64")}`
  yield* Context.get(gateway.context, WebhookOutbox).setEndpoint(
    { appId: tenant.appId, mode: tenant.mode, url: hook.url, events, enabled: true, secret: Redacted.make(secret) },
    NOON,
    auditEntry()
  )
  const count = (wanted: number) => Effect.promise(() => eventually(async () => hook.received, ({ length }) => length >= wanted))
  return { secret, received: hook.received, count }
})

/** Recomputes the whole ledger: no test may leave a difference behind. */
export const verified = ({ context }: Gateway) => Context.get(context, LedgerAudit).verify

/** A stack of its own: database, simulator and one gateway, for as long as the scope lives. */
export const givenStack = Effect.fnUntraced(function* (
  overrides: Record<string, string> = {},
  wish: Parameters<typeof startSimulator>[0] = {}
): Effect.fn.Return<{ readonly database: Redacted.Redacted; readonly simulator: Running; readonly gateway: Gateway }, never, Scope.Scope> {
  const database = yield* givenDatabase
  const simulator = yield* Effect.acquireRelease(
    Effect.promise(() => startSimulator({ duplicates: "accept", ...wish })),
    (running) => Effect.promise(() => running.stop())
  )
  const gateway = yield* Effect.orDie(gatewayOn(database, simulator, overrides))
  return { database, simulator, gateway }
})

import { Effect, Layer, Logger, Redacted } from "effect"
import * as App from "../../src/App.ts"
import { adjustFloat } from "../../src/commands/Float.ts"
import { issueKey } from "../../src/commands/Key.ts"
import { auditEntry } from "../../src/commands/Operator.ts"
import { createTenant } from "../../src/commands/Tenant.ts"
import { defaultSubscription } from "../../src/domain/Event.ts"
import { AppId } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { SECRET_BYTES, webhookSecretFrom } from "../../src/domain/StandardWebhook.ts"
import { DEFAULT_ENDPOINT } from "../../src/domain/WebhookEndpoint.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { RandomSource } from "../../src/services/ports/RandomSource.ts"
import { VelocityLimits } from "../../src/services/ports/VelocityLimits.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import type { Key } from "./Requests.ts"

/** Nothing may be refused, and everything has to be checked: the limits are raised and stay on. */
const OFTEN = 1_000_000_000
const FLOAT = minor(1_000_000_000_000_000n)
const AT_ONCE = 4

export interface Wanted {
  readonly tenants: number
  /** Where the events of each go; to nobody if left out. */
  readonly receiverUrl?: string
}

/** Tenants with a live key, float and high limits, made by what an operator's commands do. */
export const openTenants = (
  databaseUrl: string,
  masterKey: string,
  { receiverUrl, tenants }: Wanted
): Promise<ReadonlyArray<Key>> => {
  const program = Effect.gen(function* () {
    const ready = yield* readyFor(databaseUrl, masterKey)
    const names = Array.from({ length: tenants }, (_, at) => AppId.make(`bench-${at}`))
    return yield* Effect.forEach(
      names,
      Effect.fnUntraced(function* (name) {
        const key = yield* open(name)
        if (receiverUrl !== undefined) yield* receiveAt(name, receiverUrl)
        return key
      }),
      { concurrency: AT_ONCE }
    ).pipe(Effect.provide(App.ports(ready)))
  })
  return runSilently(program)
}

/** Where the gateway takes the callbacks of the provider that everybody's payouts go to. */
export const callbackPathOf = (databaseUrl: string, masterKey: string): Promise<string> => {
  const program = Effect.gen(function* () {
    const ready = yield* readyFor(databaseUrl, masterKey)
    const { routeKey } = yield* Effect.provide(ProviderRegistry, App.providers(ready))
    return `/webhooks/eversend/${routeKey("eversend", "live")}`
  })
  return runSilently(program)
}

const readyFor = Effect.fnUntraced(function* (databaseUrl: string, masterKey: string) {
  const settings = yield* App.settings
  const policy = { ...settings.policy, webhookAllowLoopback: true }
  const database = { databaseUrl: Redacted.make(databaseUrl), ownerUrl: null, databaseFolder: null }
  return { ...settings, policy, ...database, masterKey: Redacted.make(masterKey) }
})

const runSilently = <A, E>(program: Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(program.pipe(Effect.provideService(App.Environment, {}), Effect.provide(Logger.layer([]).pipe(Layer.orDie))))

const open = Effect.fnUntraced(function* (appId: AppId) {
  const limits = yield* VelocityLimits
  yield* createTenant(appId)
  for (const window of ["hour", "day"] as const) {
    const entry = yield* auditEntry("limit set", appId, { window, count: String(OFTEN) })
    yield* limits.set(appId, { mode: "live", direction: "payout", window, count: OFTEN }, entry)
  }
  const terms = {
    appId,
    mode: "live",
    currency: "UGX",
    direction: "credit",
    amount: FLOAT,
    externalId: "float",
    note: "float"
  } as const
  yield* adjustFloat(terms)
  return yield* issueKey(appId, "live", "tenant")
})

const receiveAt = Effect.fnUntraced(function* (appId: AppId, url: string) {
  const endpoints = yield* WebhookEndpoints
  const secret = webhookSecretFrom(yield* (yield* RandomSource).secret(SECRET_BYTES))
  const entry = yield* auditEntry("webhook endpoint", appId, { url })
  const wish = { appId, mode: "live", name: DEFAULT_ENDPOINT, url, events: defaultSubscription, enabled: true } as const
  yield* endpoints.put({ ...wish, secret: Redacted.make(secret), rotatesUntil: null, at: entry.at, change: entry })
})

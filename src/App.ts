import { randomBytes } from "node:crypto"
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Clock, Context, Effect, Exit, Layer, Option, Redacted, Ref, Schema, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as Config from "./Config.ts"
import type { Mode } from "./domain/Ids.ts"
import { Envelope } from "./http/Envelope.ts"
import { Logs } from "./observability/Logs.ts"
import { Management } from "./observability/Management.ts"
import { Metrics } from "./observability/Metrics.ts"
import { Telemetry } from "./observability/Telemetry.ts"
import { AuditLogPg } from "./persistence/AuditLogPg.ts"
import { CorridorsPg } from "./persistence/CorridorsPg.ts"
import { Database } from "./persistence/Database.ts"
import { EmbeddedPostgres } from "./persistence/EmbeddedPostgres.ts"
import { FloatLedgerPg } from "./persistence/FloatLedgerPg.ts"
import { withFolderLock } from "./persistence/FolderLock.ts"
import { IdempotencyPg } from "./persistence/IdempotencyPg.ts"
import { IdentifiersLive } from "./persistence/IdentifiersLive.ts"
import { LedgerAuditPg } from "./persistence/LedgerAuditPg.ts"
import { LocalProcess } from "./persistence/LocalProcess.ts"
import { NoncesPg } from "./persistence/NoncesPg.ts"
import { ProviderInboxPg } from "./persistence/ProviderInboxPg.ts"
import { TenantsPg } from "./persistence/TenantsPg.ts"
import { TransactionsPg } from "./persistence/TransactionsPg.ts"
import { VaultPg } from "./persistence/VaultPg.ts"
import { WebhookOutboxPg } from "./persistence/WebhookOutboxPg.ts"
import { eversendSimulator } from "./providers/eversend/Simulator.ts"
import { providerRegistry } from "./providers/Registry.ts"
import { Simulator, simulator as simulatorLayer } from "./providers/simulation/Simulator.ts"
import { Admission } from "./services/Admission.ts"
import { Authentication } from "./services/Authentication.ts"
import { Collections } from "./services/Collections.ts"
import { Ingress } from "./services/Ingress.ts"
import { PayoutPricing } from "./services/PayoutPricing.ts"
import { Payouts } from "./services/Payouts.ts"
import { Nonces } from "./services/ports/Nonces.ts"
import { Policy } from "./services/ports/Policy.ts"
import { Reconciler } from "./services/Reconciler.ts"
import { Records } from "./services/Records.ts"
import { Settlement } from "./services/Settlement.ts"
import { TenantConnection } from "./services/TenantConnection.ts"
import { WebhookDispatcher } from "./services/WebhookDispatcher.ts"

export type { Settings } from "./Config.ts"
/** The environment that settings are read from, and the settings as they are read from it. */
export const { Environment, settings } = Config

/** What stops a program before it has begun to work, for the person who started it: one line. */
export class Unstartable extends Schema.TaggedError<Unstartable>()("Unstartable", { message: Schema.String }) {}

/** How often spent nonces are removed, and how many at once. */
const SWEEP_EVERY = "30 seconds"
const SWEEP_LIMIT = 10_000
const MASTER_KEY_BYTES = 32
const LOOPBACK = "127.0.0.1"

export const identifiers = IdentifiersLive

/** The processes and the embedded database of a data folder, for those commands that run them. */
export const embeddedPostgres = EmbeddedPostgres
export const localProcess = LocalProcess
export const folderLock = withFolderLock

/** Logs as the settings want them, on standard error. */
export const logs = Layer.unwrap(
  Effect.map(Config.settings, ({ logFormat, logLevel }) => Logs.layer({ format: logFormat, level: logLevel }))
)

/** Brings the schema up to date and answers what was applied. */
export const migrate = Effect.gen(function* () {
  const settings = yield* Config.settings
  return yield* Effect.provide(Database.migrate, Database.layer(yield* databaseForOnce(settings)))
}).pipe(Effect.scoped)

/** What operators' commands work with: every port on the database, none of the providers and no worker. */
export const operatorPorts = Layer.unwrap(
  Effect.gen(function* () {
    const settings = yield* Config.settings
    return ports(settings, yield* databaseForOnce(settings))
  })
).pipe(Layer.provideMerge(logs))

/** The database of a command: the running embedded one, or one that is started for the command and stopped after it. */
const databaseForOnce = Effect.fnUntraced(function* ({ databaseUrl, dataDir }: Config.Settings) {
  if (databaseUrl !== null) return { url: databaseUrl }
  const running = yield* EmbeddedPostgres.running(dataDir)
  if (Option.isSome(running)) return { url: EmbeddedPostgres.url(running.value) }
  const started = yield* EmbeddedPostgres.ensureRunning(dataDir)
  if (started.startedByUs) yield* Effect.addFinalizer(() => Effect.orDie(EmbeddedPostgres.stop(dataDir)))
  return { url: EmbeddedPostgres.url(started) }
})

/** The database of a gateway: the embedded one is brought back while the scope lives, and stopped with it. */
export const databaseForLong = Effect.fnUntraced(function* ({ databaseUrl, dataDir }: Config.Settings) {
  if (databaseUrl !== null) return { url: databaseUrl }
  yield* Effect.addFinalizer(() => Effect.orDie(EmbeddedPostgres.stop(dataDir)))
  const database = yield* EmbeddedPostgres.ensureRunning(dataDir)
  yield* Effect.forkScoped(EmbeddedPostgres.keepRunning(dataDir))
  return { url: EmbeddedPostgres.url(database) }
})

type DatabaseAddress = { readonly url: Redacted.Redacted }

const ports = (settings: Config.Settings, address: DatabaseAddress) => {
  const database = Layer.provideMerge(Layer.effectDiscard(Database.migrate), Database.layer(address))
  const vault = Layer.unwrap(Effect.map(masterKey(settings), VaultPg.layer))
  const outbox = Layer.provide(Metrics.deliveries, WebhookOutboxPg)
  return Layer.mergeAll(
    AuditLogPg,
    CorridorsPg,
    FloatLedgerPg,
    IdempotencyPg,
    LedgerAuditPg,
    NoncesPg,
    outbox,
    ProviderInboxPg,
    TenantsPg,
    TransactionsPg
  ).pipe(
    Layer.provideMerge(vault),
    Layer.provideMerge(Layer.succeed(Policy, settings.policy)),
    Layer.provideMerge(IdentifiersLive),
    Layer.provideMerge(database)
  )
}

/** Everything but the listeners and the workers. */
const services = (settings: Config.Settings, address: DatabaseAddress) => {
  const registry = Layer.provide(Metrics.providers, providerRegistry({ eversend: eversendAccounts(settings) }))
  return Layer.mergeAll(Authentication.layer, Payouts.layer, Collections.layer, Records.layer, Ingress.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(PayoutPricing.layer, Reconciler.layer)),
    Layer.provideMerge(Layer.mergeAll(Admission.layer, Settlement.layer)),
    Layer.provideMerge(WebhookDispatcher.layer),
    Layer.provideMerge(Layer.mergeAll(TenantConnection, Envelope.layer, registry)),
    Layer.provideMerge(ports(settings, address))
  )
}

const eversendAccounts = ({ eversend, policy }: Config.Settings) => {
  const account = (mode: Mode) => {
    const own = eversend?.[mode] ?? null
    if (eversend === null || own === null) return undefined
    return { ...own, baseUrl: eversend.baseUrl, origin: eversend.origin, timeoutMs: policy.providerTimeoutMs }
  }
  return { live: account("live"), test: account("test") }
}

/** Work that goes on beside the requests. */
const workers = Layer.effectDiscard(
  Effect.gen(function* () {
    const nonces = yield* Nonces
    const sweep = Clock.currentTimeMillis.pipe(
      Effect.flatMap((now) => nonces.sweep(now, SWEEP_LIMIT)),
      Effect.exit,
      Effect.tap((exit) =>
        Exit.isFailure(exit) ? Effect.logError("spent nonces could not be removed", exit.cause) : Effect.void
      )
    )
    yield* Effect.forkScoped((yield* WebhookDispatcher).run)
    yield* Effect.forkScoped((yield* Reconciler).run)
    yield* Effect.forkScoped((yield* Ingress).run)
    yield* Effect.forkScoped(Effect.forever(Effect.delay(sweep, SWEEP_EVERY)))
  })
)

/** The provider simulator; it knows the accounts of the settings, or else its own. */
export const simulator = Effect.fnUntraced(function* (settings: Config.Settings) {
  const { eversend } = simulated(settings, "")
  const accounts = [eversend?.live ?? [], eversend?.test ?? []].flat()
  return yield* Layer.build(
    simulatorLayer({
      host: LOOPBACK,
      controlPort: settings.simulatorPort,
      dataDir: settings.dataDir,
      delayMs: settings.simulatorDelayMs,
      providers: [eversendSimulator({ accounts, duplicates: "refuse" })]
    })
  ).pipe(
    Effect.map((context) => Context.get(context, Simulator)),
    Effect.catchDefect((defect) => new Unstartable({ message: defect instanceof Error ? defect.message : String(defect) }))
  )
})

/** The settings of a gateway whose provider is the simulator, reached at `baseUrl`. Its credentials open nothing but the simulator. */
export const simulated = (settings: Config.Settings, baseUrl: string): Config.Settings => {
  const account = (mode: Mode) => ({
    clientId: `simulated-${mode}`,
    clientSecret: Redacted.make(`simulated-${mode}-secret`),
    webhookSecret: Redacted.make(`simulated-${mode}-webhook-secret`)
  })
  return settings.eversend === null
    ? { ...settings, eversend: { baseUrl, origin: null, live: account("live"), test: account("test") } }
    : settings
}

/** The master key: the setting's, or a random one that is made once and kept in the data folder for its owner only. */
const masterKey = Effect.fnUntraced(function* ({ dataDir, masterKey }: Config.Settings) {
  if (masterKey !== null) return masterKey
  const file = join(dataDir, "master.key")
  return yield* Effect.tryPromise({
    try: async () => {
      await mkdir(dataDir, { recursive: true, mode: 0o711 })
      const draft = `${file}.${randomBytes(6).toString("hex")}`
      await writeFile(draft, randomBytes(MASTER_KEY_BYTES).toString("base64"), { flag: "wx", mode: 0o600 })
      // A link is made whole or not at all, and never replaces the key that is there.
      await link(draft, file).catch((cause) => (cause.code === "EEXIST" ? undefined : Promise.reject(cause)))
      await rm(draft)
      return Redacted.make((await readFile(file, "utf8")).trim())
    },
    catch: (cause) => new Unstartable({ message: `cannot keep the master key in ${file}: ${String(cause)}` })
  })
})

import { Context, Effect, Layer, type Redacted, Ref, Schema } from "effect"
import * as Config from "./Config.ts"
import { Envelope } from "./http/Envelope.ts"
import { Server } from "./http/Server.ts"
import { Logs } from "./observability/Logs.ts"
import { Management } from "./observability/Management.ts"
import { Metrics } from "./observability/Metrics.ts"
import { Telemetry } from "./observability/Telemetry.ts"
import { AuditLogPg } from "./persistence/AuditLogPg.ts"
import { BeneficiariesPg } from "./persistence/BeneficiariesPg.ts"
import { CodesPg } from "./persistence/CodesPg.ts"
import { CorridorsPg } from "./persistence/CorridorsPg.ts"
import { Database } from "./persistence/Database.ts"
import { DenialsPg, ScreeningByRows } from "./persistence/DenialsPg.ts"
import { EmbeddedPostgres } from "./persistence/EmbeddedPostgres.ts"
import { FloatLedgerPg } from "./persistence/FloatLedgerPg.ts"
import { withFolderLock } from "./persistence/FolderLock.ts"
import { IdempotencyPg } from "./persistence/IdempotencyPg.ts"
import { IdentifiersLive } from "./persistence/IdentifiersLive.ts"
import { KeyRotationPg } from "./persistence/KeyRotationPg.ts"
import { LedgerAuditPg } from "./persistence/LedgerAuditPg.ts"
import { LimitsPg } from "./persistence/LimitsPg.ts"
import { LocalProcess } from "./persistence/LocalProcess.ts"
import { NoncesPg } from "./persistence/NoncesPg.ts"
import { PartyHashesPg } from "./persistence/PartyHashesPg.ts"
import { PayerLocksPg } from "./persistence/PayerLocksPg.ts"
import { Probe } from "./persistence/Probe.ts"
import { ProviderInboxPg } from "./persistence/ProviderInboxPg.ts"
import { QuotesPg } from "./persistence/QuotesPg.ts"
import { RateLimitsMemory } from "./persistence/RateLimitsMemory.ts"
import { RateLimitsRedis } from "./persistence/RateLimitsRedis.ts"
import { TenantsPg } from "./persistence/TenantsPg.ts"
import { TransactionsPg } from "./persistence/TransactionsPg.ts"
import { VaultPg } from "./persistence/VaultPg.ts"
import { WebhookDeliveriesPg } from "./persistence/WebhookDeliveriesPg.ts"
import { WebhookEndpointsPg } from "./persistence/WebhookEndpointsPg.ts"
import { WebhookOutboxPg } from "./persistence/WebhookOutboxPg.ts"
import { knownProviders, providerRegistry } from "./providers/Registry.ts"
import { Simulator, simulator as simulatorLayer } from "./providers/simulation/Simulator.ts"
import { Admission } from "./services/Admission.ts"
import { Authentication } from "./services/Authentication.ts"
import { BankAccounts } from "./services/BankAccounts.ts"
import { BeneficiaryBook } from "./services/BeneficiaryBook.ts"
import { Capabilities } from "./services/Capabilities.ts"
import { ChargeGuard } from "./services/ChargeGuard.ts"
import { Charging } from "./services/Charging.ts"
import { CodeFlow } from "./services/CodeFlow.ts"
import { CodeRequests } from "./services/CodeRequests.ts"
import { Collections } from "./services/Collections.ts"
import { Exchanges } from "./services/Exchanges.ts"
import { type Build, Health } from "./services/Health.ts"
import { Ingress } from "./services/Ingress.ts"
import { PartyChecks } from "./services/PartyChecks.ts"
import { PayoutPricing } from "./services/PayoutPricing.ts"
import { Payouts } from "./services/Payouts.ts"
import { Policy } from "./services/ports/Policy.ts"
import { Reconciler } from "./services/Reconciler.ts"
import { Records } from "./services/Records.ts"
import { Reference } from "./services/Reference.ts"
import { Settlement } from "./services/Settlement.ts"
import { sweeping } from "./services/Sweeper.ts"
import { TenantConnection } from "./services/TenantConnection.ts"
import { Velocity } from "./services/Velocity.ts"
import { WebhookDispatcher } from "./services/WebhookDispatcher.ts"
import { Webhooks } from "./services/Webhooks.ts"

export type Settings = Config.Settings
/** Settings that say where the database is and what seals its secrets. */
export type ReadySettings = Settings & { readonly databaseUrl: Redacted.Redacted; readonly masterKey: Redacted.Redacted }

/** The environment that settings are read from, and the settings as they are read from it. */
export const { Environment, settings } = Config

/** What stops a program before it has begun to work, for the person who started it: one line. */
export class Unstartable extends Schema.TaggedError<Unstartable>()("Unstartable", { message: Schema.String }) {}

const LOOPBACK = "127.0.0.1"

export const identifiers = IdentifiersLive

/** Every provider that this program knows, registered or not. */
export const providerNames = knownProviders.map(({ name }) => name)

/** What the commands need that run the processes of a data folder. */
export const embeddedPostgres = EmbeddedPostgres
export const localProcess = LocalProcess
export const folderLock = withFolderLock

/** Logs as the settings want them, on standard error. */
export const logs = Layer.unwrap(
  Effect.map(Config.settings, ({ logFormat, logLevel }) => Logs.layer({ format: logFormat, level: logLevel }))
)

/** The schema brought up to date; answers what was applied. */
export const migrate = ({ databaseUrl }: ReadySettings) => Effect.provide(Database.migrate, Database.layer({ url: databaseUrl }))

/** Screening decides by its rows; a real screening service takes their place here. */
const screeningByRows = Layer.provideMerge(ScreeningByRows, DenialsPg)

/** Re-wraps what a master key seals; needs no port that the new key would have to open. */
export const keyRotation = ({ databaseUrl, masterKey }: ReadySettings) =>
  Layer.provide(
    KeyRotationPg.layer(masterKey),
    Layer.provideMerge(Layer.effectDiscard(Database.migrate), Database.layer({ url: databaseUrl }))
  )

/** Every port on the database, whose schema is brought up to date first. */
export const ports = ({ databaseUrl, masterKey, policy }: ReadySettings) => {
  const database = Layer.provideMerge(Layer.effectDiscard(Database.migrate), Database.layer({ url: databaseUrl }))
  const outbox = Layer.provide(Metrics.deliveries, WebhookOutboxPg)
  return Layer.mergeAll(
    AuditLogPg,
    CodesPg,
    PayerLocksPg,
    BeneficiariesPg,
    CorridorsPg,
    screeningByRows,
    FloatLedgerPg,
    IdempotencyPg,
    LedgerAuditPg,
    LimitsPg,
    PartyHashesPg,
    NoncesPg,
    outbox,
    ProviderInboxPg,
    QuotesPg,
    TenantsPg,
    TransactionsPg,
    WebhookDeliveriesPg,
    WebhookEndpointsPg
  ).pipe(
    Layer.provideMerge(VaultPg.layer(masterKey)),
    Layer.provideMerge(Layer.succeed(Policy, policy)),
    Layer.provideMerge(IdentifiersLive),
    Layer.provideMerge(database)
  )
}

/** Everything but the listeners and the workers. */
const services = (settings: ReadySettings) => {
  const registry = Layer.provide(Metrics.providers, providerRegistry(settings.providers))
  return Layer.mergeAll(
    Authentication.layer,
    Capabilities.layer,
    Payouts.layer,
    Reference.layer,
    Collections.layer,
    CodeFlow.layer,
    CodeRequests.layer,
    Exchanges.layer,
    Records.layer,
    BeneficiaryBook.layer,
    Ingress.layer,
    Webhooks.layer
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(BankAccounts.layer, PayoutPricing.layer, ChargeGuard.layer, Charging.layer, Records.layer)),
    Layer.provideMerge(Reconciler.layer),
    Layer.provideMerge(Layer.mergeAll(Admission.layer, PartyChecks.layer, Velocity.layer, Settlement.layer)),
    Layer.provideMerge(WebhookDispatcher.layer),
    Layer.provideMerge(Layer.mergeAll(TenantConnection, Envelope.layer, registry, rateLimits(settings))),
    Layer.provideMerge(ports(settings))
  )
}

const rateLimits = ({ redisUrl }: Settings) => (redisUrl === null ? RateLimitsMemory : RateLimitsRedis.layer(redisUrl))

/** Work that goes on beside the requests. */
const workers = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* Effect.forkScoped((yield* WebhookDispatcher).run)
    yield* Effect.forkScoped((yield* Reconciler).run)
    yield* Effect.forkScoped((yield* Ingress).run)
    yield* Effect.forkScoped(sweeping)
  })
)

/**
 * The whole gateway for as long as the Layer lives: listeners, workers and all that they stand on. Closing it takes the API away
 * first, which drains, then the workers, then the management listener, which says meanwhile that the process is draining.
 */
export const gateway = (settings: ReadySettings, build: Build) =>
  Layer.unwrap(
    Effect.map(Ref.make(false), (draining) =>
      Layer.effectDiscard(Effect.addFinalizer(() => Ref.set(draining, true))).pipe(
        Layer.provideMerge(Server.layer(settings)),
        Layer.provideMerge(Layer.mergeAll(workers, Health.layer(build))),
        Layer.provideMerge(management(settings, Ref.get(draining))),
        Layer.provideMerge(services(settings)),
        Layer.provideMerge(Telemetry.layer({ ...traced(settings), serviceVersion: build.version }))
      )
    )
  ).pipe(Layer.provideMerge(logs))

const management = ({ host, managementPort }: Settings, draining: Effect.Effect<boolean>) =>
  Layer.unwrap(
    Effect.map(Probe, ({ alive, openTransactions }) =>
      Management.layer({ host, port: managementPort, draining, database: alive, openTransactions })
    )
  )

const traced = ({ telemetry }: Settings) => ({
  endpoint: telemetry.endpoint ?? undefined,
  tracesEndpoint: telemetry.tracesEndpoint ?? undefined,
  serviceName: telemetry.serviceName
})

/** The simulator of every provider; each knows the accounts of the settings, or else its own. */
export const simulator = (settings: Settings) =>
  Layer.build(
    simulatorLayer({
      host: LOOPBACK,
      controlPort: settings.simulatorPort,
      dataDir: settings.dataDir,
      delayMs: settings.simulatorDelayMs,
      providers: simulated(settings, () => "").providers.map((accounts) => accounts.simulator)
    })
  ).pipe(
    Effect.map((context) => Context.get(context, Simulator)),
    Effect.catchDefect((defect) => new Unstartable({ message: defect instanceof Error ? defect.message : String(defect) }))
  )

/** The settings of a gateway with a simulator behind every provider that has no account. Its credentials open nothing but the simulator. */
export const simulated = <S extends Settings>(settings: S, baseUrlOf: (provider: string) => string): S => ({
  ...settings,
  providers: knownProviders.map(
    (known) =>
      settings.providers.find(({ name }) => name === known.name) ??
      known.simulated({ baseUrl: baseUrlOf(known.name), timeoutMs: settings.policy.providerTimeoutMs })
  )
})

import { Effect, Layer, Option, type Redacted, Ref } from "effect"
import * as Config from "./Config.ts"
import { ConsoleAddress } from "./console/ConsoleAddress.ts"
import { Mode } from "./domain/Ids.ts"
import { ensureListenable, Server } from "./http/Server.ts"
import { announceDisk, databaseDisk } from "./observability/DatabaseDisk.ts"
import { eventLoop } from "./observability/EventLoop.ts"
import { clockSkew, gauges, picture } from "./observability/Gauges.ts"
import { Logs } from "./observability/Logs.ts"
import { Management, ManagementAddress } from "./observability/Management.ts"
import { commitsWaitingFamily, processFamilies } from "./observability/ProcessGauges.ts"
import { type ObstacleSources, readObstacles, readyFamily } from "./observability/Readiness.ts"
import type { Telemetry, TelemetryOptions } from "./observability/Telemetry.ts"
import { Ports } from "./Ports.ts"
import { ClockSkew, READY_SKEW_AT_MOST_MS } from "./persistence/connection/DatabaseClock.ts"
import { serverFailureIn } from "./persistence/connection/DatabaseError.ts"
import { NoPrimary } from "./persistence/connection/servers/PrimaryPool.ts"
import { Database } from "./persistence/Database.ts"
import { MasterKeyRotationPg } from "./persistence/operators/MasterKeyRotationPg.ts"
import { type EmbeddedDatabase, EmbeddedPostgres } from "./persistence/postgres/EmbeddedPostgres.ts"
import { withFolderLock } from "./persistence/postgres/FolderLock.ts"
import { LocalProcess } from "./persistence/postgres/LocalProcess.ts"
import { RateLimitsMemory } from "./persistence/requests/RateLimitsMemory.ts"
import { Distribute } from "./persistence/schema/Distribute.ts"
import { MasterKeyHold } from "./persistence/vault/MasterKeyHold.ts"
import { RandomSourceLive } from "./persistence/vault/RandomSourceLive.ts"
import { corridorDoubts, corridorDoubtsBy } from "./providers/CorridorDoubts.ts"
import { PaceBuckets } from "./providers/Pace.ts"
import { contractPrices, knownProviders, providerRegistry } from "./providers/Registry.ts"
import { MemoryOf } from "./providers/SharedMemory.ts"
import { makeCallCounts, RecentCalls } from "./runtime/RecentCalls.ts"
import { makeUnroutedPayments, UnroutedPayments } from "./runtime/UnroutedPayments.ts"
import { runTogether } from "./runtime/Worker.ts"
import { consoleServices, servicesOn } from "./Services.ts"
import { auditWatching } from "./services/AuditWatch.ts"
import { dataRetention } from "./services/DataRetention.ts"
import { floatWatching } from "./services/FloatWatch.ts"
import { type Build, Health } from "./services/Health.ts"
import { periodWriting } from "./services/PeriodWriting.ts"
import { COMMITS_WAIT, CommitsWaiting } from "./services/ports/CommitsWaiting.ts"
import { GatewayStatus } from "./services/ports/GatewayStatus.ts"
import { ProviderMemory } from "./services/ports/ProviderMemory.ts"
import { ProviderRegistry } from "./services/ports/ProviderRegistry.ts"
import { RateLimits } from "./services/ports/RateLimits.ts"
import { RoutePreferences } from "./services/routing/RoutePreferences.ts"
import { clawbackSweeps } from "./services/settlement/ClawbackSweeps.ts"
import { FeeBooking } from "./services/settlement/FeeBooking.ts"
import { OutcomePoller } from "./services/settlement/OutcomePoller.ts"
import { ProviderCallbacks } from "./services/settlement/ProviderCallbacks.ts"
import { Reconciliation } from "./services/settlement/Reconciliation.ts"
import { Review } from "./services/settlement/Review.ts"
import { endpointConnection } from "./services/webhooks/EndpointConnection.ts"
import { WebhookDispatcher } from "./services/webhooks/WebhookDispatcher.ts"

export type Settings = Config.Settings
/** Settings that also say where the database is and which key seals its secrets. */
export type ReadySettings = Settings & {
  readonly databaseUrl: Redacted.Redacted
  /** The same database as its owner, for the process that migrates; null: the role of `databaseUrl`, or another process does. */
  readonly ownerUrl: Redacted.Redacted | null
  /** The database's own folder, where this installation runs its server; null: the server runs elsewhere. */
  readonly databaseFolder: string | null
  readonly masterKey: Redacted.Redacted
}

/** The environment that settings are read from, and the settings read from it. */
export const { Environment, realParts, settings } = Config

export const randomSource = RandomSourceLive

export const contractFees = contractPrices

/** Why providers of a corridor would be passed over, according to the settings. */
export { corridorDoubts }

/** Every provider that this program knows, registered or not. */
export const providerNames = knownProviders.map(({ name }) => name)

/** The address of a gateway's console, and of its listener for scrapes and load balancers. */
export { ConsoleAddress, ManagementAddress }

/** The processes of a data folder, for the commands that run them. */
export const embeddedPostgres = EmbeddedPostgres
export type { EmbeddedDatabase }
export const localProcess = LocalProcess
export const folderLock = withFolderLock
/** The database's message where its own state, such as a damaged file or a full disk, caused the failure. */
export const databaseFailure = serverFailureIn

/** Fails where a gateway could not listen. */
export { ensureListenable }

/** Logs as configured, on standard error. */
export const logs = Layer.unwrap(
  Effect.map(Config.settings, ({ logFormat, logLevel }) => Logs.layer({ format: logFormat, level: logLevel }))
)

/** Migrates the schema as its owner, and grants the gateways' role what it needs; returns what was applied. */
export const migrate = ({ databaseUrl, migrationDatabaseUrl, ownerUrl }: ReadySettings) =>
  Database.migrateAsOwner({ databaseUrl, ownerUrl: ownerUrl ?? migrationDatabaseUrl })

/** `distribute` distributes the tables over a cluster, as their owner; `distributionPlan` only returns its statements. */
export const distribute = (settings: ReadySettings) => Effect.provide(Distribute.run, ownersDatabase(settings))
export const distributionPlan = (settings: ReadySettings) => Effect.provide(Distribute.plan, ownersDatabase(settings))

const ownersDatabase = ({ databaseUrl, migrationDatabaseUrl, ownerUrl }: ReadySettings) =>
  Database.layer({ url: ownerUrl ?? migrationDatabaseUrl ?? databaseUrl })

/** Re-wraps what a master key seals; needs no port that the new key would have to open. */
export const keyRotation = (settings: ReadySettings) =>
  Layer.provide(MasterKeyRotationPg.layer(settings.masterKey), Database.migratedLayer(settings))

/** Every port on the database. The schema is migrated first, and the clock is the database's. */
export const ports = Ports.onDatabaseTime

/** Compares accounts, and records refunds; neither listeners nor workers. */
export const reconciliation = (settings: ReadySettings) => Layer.provideMerge(Reconciliation.layer, services(settings))

/** The same, and books the fees that statements name. */
export const feeBooking = (settings: ReadySettings) =>
  FeeBooking.layer(settings.console.approvalFrom).pipe(
    Layer.provideMerge(Layer.merge(Reconciliation.layer, Review.layer)),
    Layer.provideMerge(services(settings))
  )

/** Polls providers for single transactions; neither listeners nor workers. */
export const outcomePolling = (settings: ReadySettings) => services(settings)

export const providers = (settings: ReadySettings) => Layer.provide(pacedProviders(settings), ports(settings))

/** The gateway's state, and the providers that can be polled. */
export const gatewayStatus = (settings: ReadySettings) => Layer.provideMerge(pacedProviders(settings), ports(settings))

/** Everything but the listeners and the workers. */
const services = (settings: ReadySettings) => {
  const limits = rateLimits(settings)
  const served = servicesOn({
    providers: pacedProviders(settings, limits),
    ports: ports(settings),
    limits,
    sender: endpointConnection(undefined, settings.webhookNameServers)
  })
  const counts = Layer.mergeAll(Layer.sync(RecentCalls, makeCallCounts), Layer.sync(UnroutedPayments, makeUnroutedPayments))
  return Layer.provideMerge(corridorDoubtsBy(settings.providers), Layer.provideMerge(served, counts))
}

/** The Redis client is loaded only where Redis is configured: it is as much code as all of ours. */
const rateLimits = ({ redisUrl }: Settings) =>
  redisUrl === null
    ? RateLimitsMemory
    : Layer.unwrap(
        Effect.promise(async () => (await import("./persistence/requests/RateLimitsRedis.ts")).RateLimitsRedis.layer(redisUrl))
      )

/** The accounts, each with its rate limit, which all nodes share where Redis is configured. */
const pacedProviders = (settings: Settings, limits: Layer.Layer<RateLimits> = rateLimits(settings)) =>
  Layer.provide(
    providerRegistry(settings.providers),
    Layer.merge(Layer.provide(Layer.effect(PaceBuckets, RateLimits), limits), Layer.effect(MemoryOf, ProviderMemory))
  )

/**
 * The whole gateway for as long as the Layer lives: listeners, workers and everything that they need. Closing it first stops
 * the API, which drains, then the workers, and last the management listener, which reports the draining.
 */
export const gateway = (settings: ReadySettings, build: Build) =>
  Layer.unwrap(
    Effect.map(Ref.make(false), (draining) =>
      Layer.effectDiscard(
        Effect.addFinalizer(() =>
          Effect.andThen(Ref.set(draining, true), Effect.logInfo("the process was asked to stop: it drains"))
        )
      ).pipe(
        Layer.provideMerge(Server.layer(settings)),
        Layer.provideMerge(operatorConsole(settings)),
        Layer.provideMerge(Layer.mergeAll(besideRequests, protectionAnnounced(settings), Health.layer(build))),
        Layer.provideMerge(management(settings, { build, draining: Ref.get(draining) })),
        Layer.provideMerge(MasterKeyHold.layer(settings.databaseUrl, settings.masterKey)),
        Layer.provideMerge(services(settings)),
        Layer.provideMerge(telemetryWhereSet(settings, build.version, (to, options) => to.layer(options)))
      )
    )
  ).pipe(Layer.provideMerge(logs))

/** The operators' console, if it is configured; only then is its code loaded. */
const operatorConsole = ({ console: { approvalFrom, port, ...settings }, keepAliveMs, trustedProxies }: Settings) =>
  Layer.unwrap(
    port === null
      ? Effect.succeed(Layer.succeed(ConsoleAddress, { at: null }))
      : Effect.map(
          Effect.promise(() => import("./console/Console.ts")),
          ({ Console }) =>
            Layer.provide(Console.layer({ ...settings, port, keepAliveMs, trustedProxies }), consoleServices(approvalFrom))
        )
  )

/** The metrics and the health of the process, for scrapers and for the collector. */
const management = (
  settings: ReadySettings,
  { build, draining }: { readonly build: Build; readonly draining: Effect.Effect<boolean> }
) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const alive = yield* Database.ping
      const noPrimary = yield* NoPrimary
      const schemaObstacle = yield* Database.schemaObstacle
      const commitsWaiting = yield* CommitsWaiting
      const registry = yield* ProviderRegistry
      const providers = registry.known.filter((name) => Mode.literals.some((mode) => Option.isSome(registry.find(name, mode))))
      const status = yield* GatewayStatus
      const read = readWith(status, settings.floatTenants)
      const { milliseconds: skew } = yield* ClockSkew
      const { obstacle } = yield* MasterKeyHold
      const lag = yield* eventLoop
      const disk = databaseDisk(settings.databaseDisk, settings.databaseFolder)
      yield* announceDisk(settings.databaseDisk, settings.databaseFolder)
      const process = Effect.gen(function* () {
        const waiting = commitsWaitingFamily(yield* commitsWaiting)
        return [yield* lag, clockSkew(yield* skew), waiting, ...(yield* disk), ...processFamilies(build)]
      })
      const standstill = Effect.map(commitsWaiting, (waiting) => (waiting ? COMMITS_WAIT : null))
      const sources = {
        draining,
        database: alive,
        noPrimary,
        standstill,
        conditions: {
          clock_off: Effect.map(skew, wrongClock),
          master_key: obstacle,
          schema: schemaObstacle,
          writes_refused: yield* Database.writeRefusal
        }
      } satisfies ObstacleSources
      const families = Effect.all([process, readObstacles(sources), picture({ read, standstill })], {
        concurrency: "unbounded"
      }).pipe(Effect.map(([own, obstacles, standing]) => [readyFamily(obstacles), ...own, ...gauges(standing, providers)]))
      return Layer.merge(
        Management.layer({
          host: settings.managementHost,
          port: settings.managementPort,
          keepAliveMs: settings.keepAliveMs,
          ...sources,
          providers,
          standing: read,
          process
        }),
        telemetryWhereSet(settings, build.version, (to, options) => to.gauges(options, families))
      )
    })
  )

/** The status, with the floats of the tenants that metrics may name. */
const readWith = ({ read, tenantFloats }: GatewayStatus["Service"], tenants: Settings["floatTenants"]) =>
  tenants.length === 0 ? read : Effect.zipWith(read, tenantFloats(tenants), (all, own) => ({ ...all, tenantFloats: own }))

/** The program does not use the machine's clock, but everything else does: certificates, system logs, a database beside it. */
const wrongClock = (skewMs: number): string | null =>
  Math.abs(skewMs) <= READY_SKEW_AT_MOST_MS
    ? null
    : `the clock of this machine is ${(Math.abs(skewMs) / 1000).toFixed(1)} s ${skewMs > 0 ? "ahead of" : "behind"} the database's`

interface CollectorSettings {
  readonly telemetry: Omit<TelemetryOptions, "serviceVersion">
}

/** The code for a collector is loaded only where one is configured: it is as much code as all of ours. */
const telemetryWhereSet = (
  { telemetry }: CollectorSettings,
  serviceVersion: string,
  layer: (telemetry: typeof Telemetry, options: TelemetryOptions) => Layer.Layer<never>
): Layer.Layer<never> =>
  telemetry.traces === null && telemetry.metrics === null
    ? Layer.empty
    : Layer.unwrap(
        Effect.promise(async () => {
          const { Telemetry } = await import("./observability/Telemetry.ts")
          return layer(Telemetry, { ...telemetry, serviceVersion })
        })
      )

const besideRequests = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* runTogether([yield* WebhookDispatcher, yield* OutcomePoller, yield* ProviderCallbacks])
    yield* Effect.forkScoped(dataRetention)
    yield* Effect.forkScoped(auditWatching)
    yield* Effect.forkScoped(clawbackSweeps)
    yield* Effect.forkScoped(floatWatching)
    yield* Effect.forkScoped(periodWriting)
    yield* Effect.forkScoped((yield* RoutePreferences).run)
  })
)

/** Logs one line where this process could change evidence of the past. */
const protectionAnnounced = ({ migrationDatabaseUrl }: Pick<Settings, "migrationDatabaseUrl">) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { holds, role } = yield* (yield* GatewayStatus).protection
      if (!holds)
        yield* Effect.annotateLogs(
          Effect.logWarning(
            'nothing protects audit rows, postings and history from this gateway; see docs/operations/installing.md, "Two roles"'
          ),
          { database_role: role }
        )
      if (migrationDatabaseUrl !== null)
        yield* Effect.logWarning(
          "MIGRATION_DATABASE_URL is for gateway migrate alone: whoever takes over this process has the owner's password"
        )
    })
  )

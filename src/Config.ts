import { Context, Effect, Option, Schema } from "effect"
import { databasesOf, isRealPart, redisUrlOf } from "./ConfigAddresses.ts"
import { consoleOf } from "./ConfigConsole.ts"
import {
  boolean,
  duration,
  durationUpTo,
  hostName,
  list,
  longerThanZero,
  masterKeyText,
  nameServer,
  network,
  oneOf,
  type Reader,
  type Rule,
  rate,
  reader,
  rising,
  size,
  text,
  type Variables,
  wholeNumber
} from "./ConfigRules.ts"
import { telemetryOf } from "./ConfigTelemetry.ts"
import type { Currency } from "./domain/Currency.ts"
import { AppId } from "./domain/Ids.ts"
import { type MinorUnits, minor } from "./domain/Money.ts"
import { longestInFlightMs, shortestLeaseMs } from "./domain/TimeLimits.ts"
import { knownProviders } from "./providers/Registry.ts"

/** Every setting (contract OPS-4). Durations are milliseconds unless the name says otherwise. */
export type Settings = ReturnType<typeof parse>

/** Every mistake in the environment, one line each; never a secret's value. */
class InvalidSettings extends Schema.TaggedError<InvalidSettings>()("InvalidSettings", {
  mistakes: Schema.Array(Schema.String)
}) {
  override get message() {
    return this.mistakes.join("\n")
  }
}

/** The process's environment, unless a command or a test replaces it. */
export const Environment: Context.Reference<Variables> = Context.Reference<Variables>("gateway/Environment", {
  defaultValue: () => process.env
})

/** Reads and checks everything at once. */
export const settings: Effect.Effect<Settings, InvalidSettings> = Effect.flatMap(Environment, (variables) => {
  const mistakes: Array<string> = []
  const read = parse(variables, mistakes)
  return mistakes.length === 0 ? Effect.succeed(read) : Effect.fail(new InvalidSettings({ mistakes }))
})

/** The names of the settings that give access to real money or to the installation around it, in alphabetical order. */
export const realParts: Effect.Effect<ReadonlyArray<string>> = Effect.map(Environment, (variables) => {
  const accounts = knownProviders.map(({ name }) => `${name.toUpperCase()}_`)
  return Object.keys(variables)
    .filter((name) => isRealPart(name, variables[name]?.trim() ?? "", accounts))
    .sort()
})

const logLevels = { trace: "Trace", debug: "Debug", info: "Info", warn: "Warn", error: "Error", off: "None" } as const

// Contract LIM-13.
const testCeilings: Readonly<Record<Currency, MinorUnits>> = {
  UGX: minor(20_000n),
  RWF: minor(8_000n),
  XAF: minor(3_500n),
  XOF: minor(3_500n),
  KES: minor(70_000n),
  GHS: minor(6_000n),
  NGN: minor(800_000n),
  TZS: minor(1_300_000n),
  ZMW: minor(13_000n),
  USD: minor(500n),
  EUR: minor(500n),
  GBP: minor(400n)
}

/** A nonce is stored this much longer than a signature with it can be accepted. */
const NONCE_MARGIN_SECONDS = 30
const LOOPBACK = "127.0.0.1"
const MAX_SECONDS = 3600
const MAX_DELAY_MS = 600_000
const LARGEST_PORT = 65_535
const LARGEST_CROWD = 100_000
const POLL_SCHEDULE = "15s,30s,1m,2m,5m,10m,15m,30m,1h"
const WEBHOOK_SCHEDULE = "0s,5s,30s,2m,10m,30m,2h,5h,10h,14h,20h,24h"

const parse = (variables: Variables, mistakes: Array<string>) => {
  const read = reader(variables, mistakes)
  const port = read("PORT", "8080", wholeNumber(0, LARGEST_PORT))
  const managementPort = read("MANAGEMENT_PORT", "8081", wholeNumber(0, LARGEST_PORT))
  if (port !== 0 && port === managementPort) mistakes.push("MANAGEMENT_PORT must differ from PORT")
  const databases = databasesOf(read, mistakes)
  const { databaseUrl } = databases
  const masterKey = read.optional("MASTER_KEY", masterKeyText)
  if (databaseUrl !== null && !read.has("MASTER_KEY")) mistakes.push("MASTER_KEY is required together with DATABASE_URL")
  const refuseLoopback = databaseUrl !== null && !read("ALLOW_SIMULATOR", "false", boolean)
  const policy = policyOf(read)
  if (policy.webhookAllowLoopback && refuseLoopback)
    mistakes.push("WEBHOOK_ALLOW_LOOPBACK is for development and stands beside DATABASE_URL, a real database: unset one of them")
  mistakes.push(...tooShort(policy), ...uncheckedCertificates(variables))
  return {
    host: read("HOST", LOOPBACK, hostName),
    port,
    managementPort,
    /** Not `host`: the management listener requires no key. */
    managementHost: read("MANAGEMENT_HOST", LOOPBACK, hostName),
    console: consoleOf(read, mistakes, [port, managementPort]),
    ...databases,
    /** The size of the database's disk, in bytes; null: measured, if it is on this machine. */
    databaseDisk: read.optional("DATABASE_DISK", size),
    dataDir: read("DATA_DIR", ".data", text),
    /** 32 bytes as base64; null: generated into `dataDir`. */
    masterKey,
    simulatorPort: read("SIMULATOR_PORT", "8090", wholeNumber(0, LARGEST_PORT)),
    simulatorDelayMs: read("SIMULATOR_DELAY_MS", "300", wholeNumber(0, MAX_DELAY_MS)),
    logFormat: read("LOG_FORMAT", process.stderr.isTTY ? "pretty" : "json", oneOf({ pretty: "pretty", json: "json" })),
    logLevel: read("LOG_LEVEL", "info", oneOf(logLevels)),
    telemetry: telemetryOf(read, mistakes),
    ...metricsOf(read),
    /** Null: each process counts for itself. */
    redisUrl: redisUrlOf(read, mistakes),
    /** The rate limits of one key. */
    rateLimits: rateLimitsOf(read),
    /** The name servers for the names in tenants' endpoints; empty: the machine's own. */
    webhookNameServers: read("WEBHOOK_NAME_SERVERS", "", list(nameServer)),
    trustedProxies: read("TRUSTED_PROXIES", "", list(network)),
    /** The most connections of this process at once, and of one address; further ones are closed. */
    connectionSlots: {
      inAll: read("CONNECTIONS_AT_ONCE", "4096", wholeNumber(1, LARGEST_CROWD)),
      anAddress: read("CONNECTIONS_AN_ADDRESS", "1024", wholeNumber(1, LARGEST_CROWD))
    },
    ...keepAliveOf(read),
    /** The most requests that this process handles at once; further ones are shed. */
    requestSlots: {
      reads: read("REQUESTS_AT_ONCE_READS", "1024", wholeNumber(1, LARGEST_CROWD)),
      money: read("REQUESTS_AT_ONCE_MONEY", "1024", wholeNumber(1, LARGEST_CROWD))
    },
    /** Empty: no provider is registered, unless it is simulated. */
    providers: providers(read, mistakes, {
      timeoutMs: policy.providerTimeoutMs,
      refuseLoopback,
      refuseRemote: policy.webhookAllowLoopback
    }),
    policy
  }
}

const metricsOf = (read: Reader) => ({
  /** The tenants whose floats are metrics; empty: no metric names a tenant. */
  floatTenants: read("METRICS_FLOAT_TENANTS", "", fewTenants)
})

/** Each adds a series for every currency, mode and account. */
const FLOAT_TENANTS_AT_MOST = 50

const fewTenants: Rule<ReadonlyArray<AppId>> = {
  meaning: `a comma list of at most ${FLOAT_TENANTS_AT_MOST} tenants, such as acme,shop-2`,
  of: (value) => {
    const names = list(appId).of(value)
    return names !== undefined && names.length <= FLOAT_TENANTS_AT_MOST ? [...new Set(names)] : undefined
  }
}

const appId: Rule<AppId> = { meaning: "a tenant", of: (value) => Option.getOrUndefined(decodeAppId(value)) }
const decodeAppId = Schema.decodeUnknownOption(AppId)

const keepAliveOf = (read: Reader) => ({
  /** Longer than a proxy in front keeps an idle connection open, otherwise a request may meet a closing connection. */
  keepAliveMs: read("KEEP_ALIVE", "75s", longerThanZero),
  /** How long a stopping process still answers on idle connections. All connections are closed soon after the longest value allowed. */
  keepAliveDrainMs: read("KEEP_ALIVE_DRAIN", "5s", durationUpTo("8s"))
})

const rateLimitsOf = (read: Parameters<typeof policyOf>[0]) => ({
  reads: read("RATE_LIMIT_READS", "500/s:1000", rate),
  money: read("RATE_LIMIT_MONEY", "200/s:400", rate),
  /** How many webhook deliveries one tenant may order, by tests and redeliveries together. */
  deliveries: read("RATE_LIMIT_DELIVERIES", "10/m:10", rate)
})

const uncheckedCertificates = ({ NODE_TLS_REJECT_UNAUTHORIZED: rejects }: Variables): ReadonlyArray<string> =>
  rejects === "0"
    ? [
        "NODE_TLS_REJECT_UNAUTHORIZED=0 makes Node accept any certificate, also of who pretends to be a provider: unset it; NODE_EXTRA_CA_CERTS adds an authority of your own"
      ]
    : []

/** A lease has to outlast the request that holds it. */
const tooShort = ({ idempotencyLeaseMs, providerTimeoutMs }: ReturnType<typeof policyOf>) => {
  const lease = shortestLeaseMs(providerTimeoutMs)
  return idempotencyLeaseMs >= lease
    ? []
    : [`IDEMPOTENCY_LEASE must be at least ${seconds(lease)}: with this PROVIDER_TIMEOUT_MS a request may take so long`]
}

const seconds = (ms: number): string => `${Math.ceil(ms / 1000)}s`

/** The configured accounts, at the providers that this program knows. */
const providers = (
  read: Reader,
  mistakes: Array<string>,
  bounds: { readonly timeoutMs: number; readonly refuseLoopback: boolean; readonly refuseRemote: boolean }
) => knownProviders.flatMap((known) => known.configured(read, mistakes, bounds) ?? [])

const policyOf = (read: Reader) => {
  const signatureMaxAgeSeconds = read("SIGNATURE_MAX_AGE_SECONDS", "120", wholeNumber(1, MAX_SECONDS))
  const signatureMaxAheadSeconds = read("SIGNATURE_MAX_AHEAD_SECONDS", "30", wholeNumber(0, MAX_SECONDS))
  const providerTimeoutMs = read("PROVIDER_TIMEOUT_MS", "15000", wholeNumber(1, MAX_DELAY_MS))
  return {
    publicHosts: read("PUBLIC_HOSTS", "", list(hostName)),
    signatureMaxAgeSeconds,
    signatureMaxAheadSeconds,
    nonceKeptSeconds: signatureMaxAgeSeconds + signatureMaxAheadSeconds + NONCE_MARGIN_SECONDS,
    keptRefusals: read("RATE_LIMIT_REFUSALS", "1/s:10000", rate),
    unmatchedCallbacks: read("RATE_LIMIT_UNMATCHED_CALLBACKS", "1/s:1000", rate),
    idempotencyLeaseMs: read("IDEMPOTENCY_LEASE", "90s", longerThanZero),
    providerTimeoutMs,
    pollSchedule: { open: read("RECONCILER_SCHEDULE", POLL_SCHEDULE, rising) },
    collectionExpiryMs: read("COLLECTION_EXPIRY", "15m", longerThanZero),
    redirectExpiryMs: read("REDIRECT_EXPIRY", "60m", longerThanZero),
    otpExpiryMs: read("OTP_EXPIRY", "10m", longerThanZero),
    // A payout that may still be on its way is not found, and that proves nothing.
    notFoundGraceMs: Math.max(read("NOT_FOUND_GRACE", "10m", duration), longestInFlightMs(providerTimeoutMs)),
    notFoundCount: read("NOT_FOUND_COUNT", "3", wholeNumber(1, 1000)),
    webhookScheduleMs: read("WEBHOOK_SCHEDULE", WEBHOOK_SCHEDULE, list(duration)),
    webhookAllowLoopback: read("WEBHOOK_ALLOW_LOOPBACK", "false", boolean),
    circuit: {
      failures: read("CIRCUIT_FAILURES", "20", wholeNumber(1, 10_000)),
      openMs: read("CIRCUIT_OPEN", "1s", longerThanZero),
      lateMs: read("CIRCUIT_LATE", "1s", longerThanZero)
    },
    testCeilings
  }
}

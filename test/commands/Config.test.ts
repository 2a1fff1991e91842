import { describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { expect } from "vitest"
import { Environment, settings } from "../../src/Config.ts"
import { eversendProvider } from "../../src/providers/eversend/Settings.ts"

const read = (variables: Readonly<Record<string, string>>) => Effect.provideService(settings, Environment, variables)
const mistakes = (variables: Readonly<Record<string, string>>) =>
  Effect.map(Effect.flip(read(variables)), (refused) => refused.mistakes)

const MASTER_KEY = Buffer.alloc(32, 7).toString("base64")
const DATABASE_URL = "postgres://gateway:pw-very-secret@db.example/gateway?sslmode=verify-full"

describe("the settings", () => {
  it.effect("have a default each", () =>
    Effect.gen(function* () {
      const { policy, ...rest } = yield* read({})
      expect(rest).toMatchObject({
        host: "127.0.0.1",
        port: 8080,
        managementHost: "127.0.0.1",
        managementPort: 8081,
        databaseUrl: null,
        databaseDisk: null,
        dataDir: ".data",
        masterKey: null,
        simulatorPort: 8090,
        simulatorDelayMs: 300,
        redisUrl: null,
        rateLimits: {
          reads: { count: 500, windowMs: 1000, burst: 1000 },
          money: { count: 200, windowMs: 1000, burst: 400 },
          deliveries: { count: 10, windowMs: 60_000, burst: 10 }
        },
        trustedProxies: [],
        webhookNameServers: [],
        floatTenants: [],
        connectionSlots: { inAll: 4096, anAddress: 1024 },
        requestSlots: { reads: 1024, money: 1024 },
        providers: []
      })
      expect(policy).toMatchObject({
        signatureMaxAgeSeconds: 120,
        signatureMaxAheadSeconds: 30,
        nonceKeptSeconds: 180,
        keptRefusals: { count: 1, windowMs: 1000, burst: 10_000 },
        idempotencyLeaseMs: 90_000,
        providerTimeoutMs: 15_000,
        collectionExpiryMs: 900_000,
        redirectExpiryMs: 3_600_000,
        otpExpiryMs: 600_000,
        notFoundGraceMs: 600_000,
        notFoundCount: 3,
        webhookAllowLoopback: false
      })
      expect(policy.pollSchedule.open.map((age) => age / 1000)).toEqual([15, 30, 60, 120, 300, 600, 900, 1800, 3600])
      expect(policy.webhookScheduleMs.map((delay) => delay / 1000)).toEqual([
        0, 5, 30, 120, 600, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400
      ])
      expect(policy.testCeilings).toMatchObject({ UGX: 20_000n, KES: 70_000n, GBP: 400n })
    })
  )

  it.effect("let metrics name few tenants, each once, and only where they are chosen", () =>
    Effect.gen(function* () {
      expect((yield* read({ METRICS_FLOAT_TENANTS: "acme, shop-2,acme" })).floatTenants).toEqual(["acme", "shop-2"])
      const names = (count: number) => Array.from({ length: count }, (_, at) => `shop-${at}`).join(",")
      expect((yield* read({ METRICS_FLOAT_TENANTS: names(50) })).floatTenants).toHaveLength(50)
      for (const wrong of [names(51), "Acme", "a,,b"])
        expect(yield* mistakes({ METRICS_FLOAT_TENANTS: wrong })).toEqual([
          `METRICS_FLOAT_TENANTS must be a comma list of at most 50 tenants, such as acme,shop-2, not ${JSON.stringify(wrong)}`
        ])
    })
  )

  it.effect("are refused all at once, each by its name", () =>
    Effect.gen(function* () {
      const found = yield* mistakes({
        PORT: "70000",
        MANAGEMENT_PORT: "abc",
        HOST: "a b",
        DATABASE_URL: "mysql://x",
        MASTER_KEY: "short",
        SIMULATOR_DELAY_MS: "-1",
        COLLECTION_EXPIRY: "15",
        NOT_FOUND_COUNT: "0",
        RECONCILER_SCHEDULE: "1m,30s",
        WEBHOOK_SCHEDULE: "0s,soon",
        WEBHOOK_ALLOW_LOOPBACK: "maybe",
        LOG_LEVEL: "loud",
        RATE_LIMIT_READS: "0/s",
        RATE_LIMIT_MONEY: "fast",
        REDIS_URL: "http://cache",
        TRUSTED_PROXIES: "10.0.0.0/8,10.0.0.0/33",
        WEBHOOK_NAME_SERVERS: "10.0.0.53,ns.example",
        EVERSEND_LIVE_CLIENT_ID: "id"
      })
      expect(found.map((line) => line.split(" ", 1)[0]).sort()).toEqual([
        "COLLECTION_EXPIRY",
        "DATABASE_URL",
        "EVERSEND_BASE_URL",
        "EVERSEND_LIVE_CLIENT_SECRET",
        "EVERSEND_LIVE_WEBHOOK_SECRET",
        "HOST",
        "LOG_LEVEL",
        "MANAGEMENT_PORT",
        "MASTER_KEY",
        "NOT_FOUND_COUNT",
        "PORT",
        "RATE_LIMIT_MONEY",
        "RATE_LIMIT_READS",
        "RECONCILER_SCHEDULE",
        "REDIS_URL",
        "SIMULATOR_DELAY_MS",
        "TRUSTED_PROXIES",
        "WEBHOOK_ALLOW_LOOPBACK",
        "WEBHOOK_NAME_SERVERS",
        "WEBHOOK_SCHEDULE"
      ])
      expect(found.every((line) => !line.includes("\n"))).toBe(true)
    })
  )

  it.effect("let not found prove nothing while a payout may be on its way, however short the grace is set", () =>
    Effect.gen(function* () {
      expect((yield* read({ NOT_FOUND_GRACE: "86s" })).policy.notFoundGraceMs).toBe(86_000)
      expect((yield* read({ NOT_FOUND_GRACE: "2s" })).policy.notFoundGraceMs).toBe(85_000)
      expect((yield* read({ NOT_FOUND_GRACE: "2s", PROVIDER_TIMEOUT_MS: "3000" })).policy.notFoundGraceMs).toBe(49_000)
    })
  )

  it.effect("are refused when a lease is shorter than what it has to outlast", () =>
    Effect.gen(function* () {
      expect(yield* mistakes({ PROVIDER_TIMEOUT_MS: "200000" })).toEqual([
        "IDEMPOTENCY_LEASE must be at least 610s: with this PROVIDER_TIMEOUT_MS a request may take so long"
      ])
      expect(yield* mistakes({ IDEMPOTENCY_LEASE: "54s" })).toEqual([
        "IDEMPOTENCY_LEASE must be at least 55s: with this PROVIDER_TIMEOUT_MS a request may take so long"
      ])
      // A lease that is shorter than the margin's fivefold leaves a share of itself to the request.
      expect((yield* read({ IDEMPOTENCY_LEASE: "3s", PROVIDER_TIMEOUT_MS: "800" })).policy.idempotencyLeaseMs).toBe(3_000)
      expect(yield* mistakes({ IDEMPOTENCY_LEASE: "3s", PROVIDER_TIMEOUT_MS: "801" })).toHaveLength(1)
    })
  )

  it.effect("accept a rate with a burst, a rate alone, or off", () =>
    Effect.gen(function* () {
      const { rateLimits, trustedProxies } = yield* read({
        RATE_LIMIT_READS: "30/m",
        RATE_LIMIT_MONEY: "off",
        RATE_LIMIT_DELIVERIES: "2/h:3",
        TRUSTED_PROXIES: "10.0.0.0/8, 2001:db8::1"
      })
      expect(rateLimits).toEqual({
        reads: { count: 30, windowMs: 60_000, burst: 30 },
        money: "off",
        deliveries: { count: 2, windowMs: 3_600_000, burst: 3 }
      })
      expect(trustedProxies).toEqual(["10.0.0.0/8", "2001:db8::1"])
    })
  )

  it.effect("accept name servers with or without a port, of IPv4 and IPv6", () =>
    Effect.gen(function* () {
      const WEBHOOK_NAME_SERVERS = "10.0.0.53, 10.0.0.54:5353, 2001:db8::53, [2001:db8::54]:5353"
      expect((yield* read({ WEBHOOK_NAME_SERVERS })).webhookNameServers).toEqual(WEBHOOK_NAME_SERVERS.split(", "))
      for (const wrong of ["10.0.0.53:0", "10.0.0.53:70000", "[10.0.0.53]", "10.0.0", "localhost", "2001:db8::53:x"]) {
        expect([wrong, yield* mistakes({ WEBHOOK_NAME_SERVERS: wrong })]).toEqual([wrong, [expect.any(String)]])
      }
    })
  )

  it.effect("never show a secret, valid or not", () =>
    Effect.gen(function* () {
      const secrets = {
        DATABASE_URL: "not-a-url-pw",
        MASTER_KEY: "my-wrong-master-key",
        REDIS_URL: "not-redis-pw",
        OTEL_EXPORTER_OTLP_ENDPOINT: "htp://user:not-a-collector-pw@collector.example"
      }
      const shown = (yield* mistakes(secrets)).join("\n")
      for (const secret of Object.values(secrets)) expect(shown).not.toContain(secret)
      const right = yield* read({ DATABASE_URL, MASTER_KEY })
      expect(JSON.stringify(right, (_, value) => (typeof value === "bigint" ? String(value) : value))).not.toContain(
        "pw-very-secret"
      )
      expect(right.databaseUrl === null ? "" : Redacted.value(right.databaseUrl)).toBe(DATABASE_URL)
    })
  )

  it.effect("need a master key with a database, and refuse a simulator unless it is allowed", () =>
    Effect.gen(function* () {
      expect(yield* mistakes({ DATABASE_URL })).toEqual(["MASTER_KEY is required together with DATABASE_URL"])
      const simulated = {
        DATABASE_URL,
        MASTER_KEY,
        EVERSEND_BASE_URL: "http://127.0.0.1:9/v1",
        EVERSEND_TEST_CLIENT_ID: "id",
        EVERSEND_TEST_CLIENT_SECRET: "secret",
        EVERSEND_TEST_WEBHOOK_SECRET: "secret"
      }
      expect((yield* mistakes(simulated))[0]).toMatch(/^EVERSEND_BASE_URL is a loopback address/)
      const [eversend, ...others] = (yield* read({ ...simulated, ALLOW_SIMULATOR: "true" })).providers
      const opened = eversend === undefined ? [] : eversendProvider.accountsOf(eversend)
      expect(opened.map(({ account, mode }) => [mode, account.clientId])).toEqual([["test", "id"]])
      expect(others).toEqual([])
    })
  )

  it.effect("4. let a node keep idle connections longer than load balancers do, whose usual time is a minute", () =>
    Effect.gen(function* () {
      expect((yield* read({})).keepAliveMs).toBe(75_000)
      expect((yield* read({ KEEP_ALIVE: "2m" })).keepAliveMs).toBe(120_000)
      // Node takes 0 as for ever.
      expect(yield* mistakes({ KEEP_ALIVE: "0s" })).toHaveLength(1)
    })
  )

  it.effect("let a node that stops keep idle connections for less time than it has to stop", () =>
    Effect.gen(function* () {
      expect((yield* read({ KEEP_ALIVE_DRAIN: "8s" })).keepAliveDrainMs).toBe(8_000)
      for (const long of ["9s", "1h"])
        expect(yield* mistakes({ KEEP_ALIVE_DRAIN: long })).toEqual([
          `KEEP_ALIVE_DRAIN must be a duration of at most 8s, such as 500ms or 5s, not "${long}"`
        ])
    })
  )

  it.effect("take the size of the database's disk in MB, GB or TB", () =>
    Effect.gen(function* () {
      expect((yield* read({ DATABASE_DISK: "500GB" })).databaseDisk).toBe(500_000_000_000)
      expect((yield* read({ DATABASE_DISK: "2tb" })).databaseDisk).toBe(2_000_000_000_000)
      for (const size of ["500", "0GB", "GB", "1.5TB", "500 GiB"])
        expect(yield* mistakes({ DATABASE_DISK: size })).toEqual([
          `DATABASE_DISK must be a size such as 500GB or 2TB, not "${size}"`
        ])
    })
  )
})

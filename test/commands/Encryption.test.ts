import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { Environment, settings } from "../../src/Config.ts"

const mistakes = (variables: Readonly<Record<string, string>>) =>
  Effect.matchEffect(Effect.provideService(settings, Environment, variables), {
    onFailure: (refused) => Effect.succeed(refused.mistakes),
    onSuccess: () => Effect.succeed<ReadonlyArray<string>>([])
  })

const MASTER_KEY = Buffer.alloc(32, 7).toString("base64")
const database = (url: string, more: Readonly<Record<string, string>> = {}) =>
  mistakes({ MASTER_KEY, DATABASE_URL: `postgres://gateway:pw-very-secret@${url}`, ...more })

const account = {
  EVERSEND_LIVE_CLIENT_ID: "id",
  EVERSEND_LIVE_CLIENT_SECRET: "secret",
  EVERSEND_LIVE_WEBHOOK_SECRET: "secret"
}

describe("certificates", () => {
  it.effect("are checked: what would make Node accept any one stops the start", () =>
    Effect.gen(function* () {
      expect(yield* mistakes({ NODE_TLS_REJECT_UNAUTHORIZED: "0" })).toEqual([
        expect.stringMatching(/^NODE_TLS_REJECT_UNAUTHORIZED=0 .*NODE_EXTRA_CA_CERTS/)
      ])
      expect(yield* mistakes({ NODE_TLS_REJECT_UNAUTHORIZED: "1" })).toEqual([])
    })
  )
})

describe("a database on another machine", () => {
  it.effect("is refused without TLS and a verified certificate", () =>
    Effect.gen(function* () {
      const unsafe = [
        "db.example/gateway",
        "db.example/gateway?sslmode=disable",
        "db.example/gateway?sslmode=prefer&sslrootcert=/etc/ca.pem",
        "db.example/gateway?sslmode=require",
        "10.0.0.7:5432/gateway",
        "[2001:db8::7]/gateway",
        "127.0.0.1.example/gateway",
        // 7.240.0.1 and 7.248.0.0 are not this machine.
        "[::ffff:7f0:1]/gateway",
        "[::ffff:7f8:0]/gateway",
        // Where the driver connects is the last host that is named.
        "127.0.0.1/gateway?host=db.example",
        "localhost/gateway?sslmode=verify-full&sslmode=disable&host=db.example"
      ]
      for (const url of unsafe) {
        const found = yield* database(url)
        expect([url, found]).toEqual([
          url,
          [expect.stringMatching(/^DATABASE_URL .*sslmode=verify-full.*DATABASE_INSECURE=true/)]
        ])
        expect(found.join()).not.toContain("pw-very-secret")
        expect([url, yield* database(url, { DATABASE_INSECURE: "true" })]).toEqual([url, []])
      }
    })
  )

  it.effect("is accepted when its certificate is verified, or when it is this machine", () =>
    Effect.gen(function* () {
      const safe = [
        "db.example/gateway?sslmode=verify-full",
        "db.example/gateway?sslmode=verify-full&sslrootcert=system",
        "db.example/gateway?sslmode=verify-ca&sslrootcert=/etc/ca.pem",
        // PostgreSQL's own rule: with an authority, `require` verifies as `verify-ca` does.
        "db.example/gateway?sslmode=require&sslrootcert=/etc/ca.pem",
        "127.0.0.1:5432/gateway",
        "LOCALHOST/gateway",
        "[::1]/gateway",
        "[::ffff:7f00:1]/gateway",
        "[::ffff:127.9.8.7]/gateway",
        "db.example/gateway?host=/var/run/postgresql",
        "db.example/gateway?host=127.0.0.1"
      ]
      for (const url of safe) expect([url, yield* database(url)]).toEqual([url, []])
    })
  )

  it.effect("is refused when its address has a parameter that would be ignored silently", () =>
    Effect.gen(function* () {
      expect(yield* database("db.example/gateway?sslmode=verify")).toEqual([
        "DATABASE_URL has an sslmode that is none of disable, allow, prefer, require, verify-ca, verify-full"
      ])
      expect(yield* database("db.example/gateway?sslmode=verify-full&sslcert=/etc/own.pem&ssl=true")).toEqual([
        "DATABASE_URL has sslcert, ssl: of the parameters for TLS only sslmode and sslrootcert are known"
      ])
    })
  )
})

describe("data for other machines", () => {
  it.effect("is not sent to a provider in plain text", () =>
    Effect.gen(function* () {
      const at = (EVERSEND_BASE_URL: string) => mistakes({ EVERSEND_BASE_URL, ...account })
      for (const url of ["http://api.example/v1", "http://10.0.0.7/v1", "http://127.0.0.1.example"]) {
        expect(yield* at(url)).toEqual([expect.stringMatching(/^EVERSEND_BASE_URL .*https/)])
      }
      for (const url of ["https://api.example/v1", "http://127.0.0.1:9/v1", "http://localhost:9", "http://[::1]:9"]) {
        expect([url, yield* at(url)]).toEqual([url, []])
      }
    })
  )

  it.effect("is not sent to a cache with a password in plain text, unless a setting allows it", () =>
    Effect.gen(function* () {
      const REDIS_URL = "redis://:pw-very-secret@cache.example:6379"
      expect(yield* mistakes({ REDIS_URL })).toEqual([expect.stringMatching(/^REDIS_URL .*rediss:.*REDIS_INSECURE=true/)])
      expect((yield* mistakes({ REDIS_URL })).join()).not.toContain("pw-very-secret")
      expect(yield* mistakes({ REDIS_URL, REDIS_INSECURE: "true" })).toEqual([])
      for (const url of ["rediss://cache.example", "redis://127.0.0.1:6379", "redis://localhost/1"]) {
        expect([url, yield* mistakes({ REDIS_URL: url })]).toEqual([url, []])
      }
    })
  )

  it.effect("is not sent to a collector with credentials in plain text", () =>
    Effect.gen(function* () {
      const OTEL_EXPORTER_OTLP_ENDPOINT = "http://collector.example:4318"
      const OTEL_EXPORTER_OTLP_HEADERS = "api-key=very-secret"
      const found = yield* mistakes({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS })
      expect(found).toEqual([expect.stringMatching(/^OTEL_EXPORTER_OTLP_ENDPOINT .*OTEL_EXPORTER_OTLP_HEADERS/)])
      expect(found.join()).not.toContain("very-secret")
      // Without credentials: what leaves is a list of attributes that holds no secret and no number.
      expect(yield* mistakes({ OTEL_EXPORTER_OTLP_ENDPOINT })).toEqual([])
      for (const endpoint of ["https://collector.example", "http://127.0.0.1:4318"]) {
        expect(yield* mistakes({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS })).toEqual([])
      }
      const traces = {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://collector.example/v1/traces",
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: "api-key=very-secret"
      }
      expect(yield* mistakes(traces)).toEqual([
        expect.stringMatching(/^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT .*OTEL_EXPORTER_OTLP_TRACES_HEADERS/)
      ])
    })
  )

  it.effect("is not sent to a collector in plain text with headers of any signal or a password in the address", () =>
    Effect.gen(function* () {
      const OTEL_EXPORTER_OTLP_ENDPOINT = "http://collector.example:4318"
      for (const name of ["TRACES", "METRICS", "LOGS"].map((signal) => `OTEL_EXPORTER_OTLP_${signal}_HEADERS`)) {
        const found = yield* mistakes({ OTEL_EXPORTER_OTLP_ENDPOINT, [name]: "api-key=very-secret" })
        expect(found).toEqual([expect.stringContaining(`OTEL_EXPORTER_OTLP_ENDPOINT takes ${name} to another machine`)])
        expect(found.join()).not.toContain("very-secret")
        expect(yield* mistakes({ OTEL_EXPORTER_OTLP_ENDPOINT, [name]: " " })).toEqual([])
      }
      for (const signal of ["OTEL_EXPORTER_OTLP", "OTEL_EXPORTER_OTLP_TRACES"]) {
        const found = yield* mistakes({ [`${signal}_ENDPOINT`]: "http://gateway:very-secret@collector.example:4318" })
        expect(found).toEqual([expect.stringContaining(`${signal}_ENDPOINT takes its own user and password to another machine`)])
        expect(found.join()).not.toContain("very-secret")
        expect(yield* mistakes({ [`${signal}_ENDPOINT`]: "https://gateway:very-secret@collector.example" })).toEqual([])
        expect(yield* mistakes({ [`${signal}_ENDPOINT`]: "http://gateway:very-secret@127.0.0.1:4318" })).toEqual([])
      }
    })
  )
})

describe("loopback receivers of webhooks", () => {
  it.effect("are refused beside a real provider or database", () =>
    Effect.gen(function* () {
      const WEBHOOK_ALLOW_LOOPBACK = "true"
      expect(yield* mistakes({ WEBHOOK_ALLOW_LOOPBACK })).toEqual([])
      const beside = yield* database("127.0.0.1/gateway", { WEBHOOK_ALLOW_LOOPBACK })
      expect(beside).toEqual([expect.stringMatching(/^WEBHOOK_ALLOW_LOOPBACK .*DATABASE_URL/)])
      expect(yield* database("127.0.0.1/gateway", { WEBHOOK_ALLOW_LOOPBACK, ALLOW_SIMULATOR: "true" })).toEqual([])
      const real = { EVERSEND_BASE_URL: "https://api.example/v1", ...account, WEBHOOK_ALLOW_LOOPBACK }
      expect(yield* mistakes(real)).toEqual([expect.stringMatching(/^WEBHOOK_ALLOW_LOOPBACK .*EVERSEND_BASE_URL/)])
      expect(yield* database("127.0.0.1/gateway", { ...real, ALLOW_SIMULATOR: "true" })).toHaveLength(1)
    })
  )
})

describe("the management listener", () => {
  it.effect("is reachable from this machine only, whatever HOST says, unless its own setting changes that", () =>
    Effect.gen(function* () {
      const host = (variables: Readonly<Record<string, string>>) =>
        Effect.map(Effect.provideService(settings, Environment, variables), ({ managementHost }) => managementHost)
      expect(yield* host({})).toBe("127.0.0.1")
      expect(yield* host({ HOST: "0.0.0.0" })).toBe("127.0.0.1")
      expect(yield* host({ MANAGEMENT_HOST: "0.0.0.0" })).toBe("0.0.0.0")
      expect(yield* mistakes({ MANAGEMENT_HOST: "a b" })).toHaveLength(1)
    })
  )
})

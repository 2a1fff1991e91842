import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Metric, Option, Redacted, References } from "effect"
import { TestClock } from "effect/testing"
import { AppId } from "../../../src/domain/Ids.ts"
import { defaultCapabilities, noTerms } from "../../../src/domain/Tenant.ts"
import { IsBounded } from "../../../src/runtime/BoundedLog.ts"
import { Authentication } from "../../../src/services/admission/Authentication.ts"
import { Tenants } from "../../../src/services/ports/Tenants.ts"
import { fake } from "../../fakes/Fake.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { fakeNonces } from "../../fakes/FakePorts.ts"
import { fakeHash, fakeVault } from "../../fakes/FakeVault.ts"
import vectors from "../../http/signing-vectors.json" with { type: "json" }
import { caller, signed } from "../../support/RawHttp.ts"

type Headers = ReadonlyArray<readonly [name: string, value: string]>

const TARGET = "/v1/float"
const WINDOW = "10 seconds"
const apiKey = fakeHash("api_key", Redacted.make(vectors.api_key))
const signingSecret = Redacted.make(vectors.signing_secret)
const known = { app_id: vectors.app_id, key_id: vectors.key_id }
const revoked = {
  appId: caller.appId,
  keyId: "k_old",
  mode: "live",
  role: "tenant",
  ...noTerms,
  createdAt: 0,
  lastUsedAt: null,
  revokedAt: 1
} as const

const clientAddress = () => "127.0.0.1"

const tenants = fake(Tenants, {
  find: (appId) =>
    Effect.succeed(
      appId === caller.appId
        ? Option.some({
            appId: AppId.make(appId),
            status: "active" as const,
            capabilities: defaultCapabilities,
            pinned: null,
            repeatSales: false,
            createdAt: 0
          })
        : Option.none()
    ),
  // The cache of signing keys has not seen the newest one yet.
  keys: () => Effect.succeed([revoked, ...[caller.keyId, "k_new"].map((keyId) => ({ ...revoked, keyId, revokedAt: null }))]),
  noteUse: () => Effect.void,
  signingKey: (appId, keyId) =>
    Effect.succeed(
      appId === caller.appId && keyId === caller.keyId
        ? Option.some({ caller, addresses: [], apiKeyHash: apiKey, signingSecret, lastUsedAt: null })
        : Option.none()
    )
})

interface LogLine {
  readonly message: string
  readonly [annotation: string]: unknown
}
const lines: Array<LogLine> = []
const logger = Logger.make(({ fiber, message }) => {
  const annotations = fiber.getRef(References.CurrentLogAnnotations)
  const isBounded = fiber.getRef(IsBounded)
  lines.push({
    message: String(Array.isArray(message) ? message[0] : message),
    ...annotations,
    ...(isBounded ? { isBounded } : {})
  })
})

const authentication = Authentication.layer.pipe(
  Layer.provide([tenants, fakeNonces(), fakeVault, fakePolicy({ publicHosts: ["api.gateway.example"] })]),
  Layer.provideMerge(Logger.layer([logger]))
)

const good = (target = TARGET): Headers => signed("GET", target)
const with_ = (name: string, value: string, headers = good()): Headers =>
  headers.map(([header, old]) => [header, header === name ? value : old])

layer(authentication)("the log of refused signatures", (it) => {
  /** What is written when a request is refused; the caller gets the same error whatever was wrong. */
  const lineOf = Effect.fnUntraced(function* (headers: Headers, target = TARGET) {
    yield* TestClock.setTime(vectors.now * 1000)
    lines.length = 0
    const { authenticate } = yield* Authentication
    const request = { method: "GET", rawTarget: target, rawHeaders: headers.flat(), body: new Uint8Array(), clientAddress }
    const spent = Effect.flatMap(authenticate(request), ({ nonce }) => nonce.settle)
    expect(yield* Effect.flip(spent)).toMatchObject({ _tag: "unauthorized" })
    yield* Effect.yieldNow
    yield* TestClock.adjust(1)
    const secrets = [
      vectors.api_key,
      "ak_wrong",
      ...headers.filter(([name]) => /nonce|sign/i.test(name)).map(([, value]) => value)
    ]
    for (const secret of secrets) expect(JSON.stringify(lines)).not.toContain(secret)
    expect(lines.length).toBe(1)
    const { isBounded, message, ...annotations } = lines[0] ?? { message: "" }
    // What bounds the log as a whole leaves it alone: it is bounded here.
    expect([message, isBounded]).toStrictEqual(["a signature was refused", true])
    return annotations
  })

  it.effect("names the header that is missing, doubled or malformed, and the tenant where the key is named", () =>
    Effect.gen(function* () {
      for (const header of ["Host", "X-Gateway-Timestamp", "X-Gateway-Nonce", "X-Gateway-Signature"]) {
        const name = header.toLowerCase()
        const without = good().filter(([one]) => one !== header)
        expect(yield* lineOf(without)).toStrictEqual({ ...known, reason: "missing_header", header: name })
        const doubled = [...good(), ...good().filter(([one]) => one === header)]
        expect(yield* lineOf(doubled)).toStrictEqual({ ...known, reason: "doubled_header", header: name })
      }
      const unnamed = good().filter(([one]) => one !== "X-Gateway-Key")
      expect(yield* lineOf(unnamed)).toStrictEqual({ reason: "missing_header", header: "x-gateway-key" })
      expect(yield* lineOf(with_("X-Gateway-Key", "acme.k_1"))).toStrictEqual({
        reason: "malformed_header",
        header: "x-gateway-key"
      })
      const nonce = yield* lineOf(with_("X-Gateway-Nonce", "too-short"))
      expect(nonce).toStrictEqual({ ...known, reason: "malformed_header", header: "x-gateway-nonce" })
      const signature = yield* lineOf(with_("X-Gateway-Signature", "sha256=abc"))
      expect(signature).toStrictEqual({ ...known, reason: "malformed_header", header: "x-gateway-signature" })
    })
  )

  it.effect("tells an unknown tenant, an unknown key and a revoked key apart, and writes no name that does not exist", () =>
    Effect.gen(function* () {
      const key = (text: string) => lineOf(with_("X-Gateway-Key", text))
      expect(yield* key(`nobody.k_7Qm2.${vectors.api_key}`)).toStrictEqual({ reason: "unknown_tenant" })
      expect(yield* key(`acme.k_none.${vectors.api_key}`)).toStrictEqual({ app_id: "acme", reason: "unknown_key" })
      expect(yield* key(`acme.k_old.${vectors.api_key}`)).toStrictEqual({
        app_id: "acme",
        key_id: "k_old",
        reason: "revoked_key"
      })
      expect(yield* key(`acme.k_new.${vectors.api_key}`)).toStrictEqual({
        app_id: "acme",
        key_id: "k_new",
        reason: "unknown_key"
      })
    })
  )

  it.effect("has the clock skew in seconds of a timestamp outside the window", () =>
    Effect.gen(function* () {
      const at = (timestamp: number) => lineOf(signed("GET", TARGET, "", { timestamp }))
      const reason = "timestamp_outside_window"
      expect(yield* at(vectors.now - 121)).toStrictEqual({ ...known, reason, clock_skew_seconds: -121 })
      expect(yield* at(vectors.now + 31)).toStrictEqual({ ...known, reason, clock_skew_seconds: 31 })
      expect(yield* lineOf(with_("X-Gateway-Timestamp", "2026-11-22"))).toStrictEqual({ ...known, reason: "malformed_timestamp" })
    })
  )

  it.effect("tells a wrong signature, a wrong API key, a reused nonce, a strange host and a bad query apart", () =>
    Effect.gen(function* () {
      expect(yield* lineOf(good("/v1/other"))).toStrictEqual({ ...known, reason: "wrong_signature" })
      const other = `${vectors.app_id}.${vectors.key_id}.ak_wrong`
      expect(yield* lineOf(with_("X-Gateway-Key", other))).toStrictEqual({ ...known, reason: "wrong_api_key" })
      const used = good()
      yield* TestClock.setTime(vectors.now * 1000)
      const { authenticate } = yield* Authentication
      const { nonce } = yield* authenticate({
        method: "GET",
        rawTarget: TARGET,
        rawHeaders: used.flat(),
        body: new Uint8Array(),
        clientAddress
      })
      yield* nonce.settle
      expect(yield* lineOf(used)).toStrictEqual({ ...known, reason: "reused_nonce" })
      const strange = signed("GET", TARGET, "", { host: "127.0.0.1:8080" })
      expect(yield* lineOf(strange)).toStrictEqual({ ...known, reason: "host_not_public" })
      expect(yield* lineOf(good(), `${TARGET}?q=%zz`)).toStrictEqual({ ...known, reason: "bad_query_escape" })
      expect(yield* lineOf(good(), `http://api.gateway.example${TARGET}`)).toStrictEqual({ ...known, reason: "absolute_target" })
    })
  )

  it.effect("counts a flood by reason instead of writing a line for each", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(WINDOW)
      lines.length = 0
      const { authenticate } = yield* Authentication
      const flood = { method: "GET", rawTarget: TARGET, rawHeaders: [], body: new Uint8Array(), clientAddress }
      yield* Effect.forEach(Array.from({ length: 250 }), () => Effect.flip(authenticate(flood)))
      yield* TestClock.adjust(WINDOW)
      const own = lines.filter(({ message }) => message === "a signature was refused")
      expect([own.length, lines.at(-1)]).toEqual([
        100,
        { message: "more refused signatures", reason: "missing_header", count: 150 }
      ])
    })
  )

  it.effect("counts what it refuses, by what was wrong", () =>
    Effect.gen(function* () {
      const unnamed = good().filter(([one]) => one !== "Host")
      const old = signed("GET", TARGET, "", { timestamp: vectors.now - 121 })
      const ill = with_("X-Gateway-Timestamp", "2026-11-22")
      const strange = signed("GET", TARGET, "", { host: "127.0.0.1:8080" })
      for (const headers of [
        unnamed,
        [...good(), ...good()],
        with_("X-Gateway-Nonce", "short"),
        ill,
        old,
        strange,
        good("/v1/other")
      ])
        yield* lineOf(headers)
      for (const target of [`${TARGET}?q=%zz`, `http://api.gateway.example${TARGET}`]) yield* lineOf(good(), target)
      for (const name of [`acme.k_none.${vectors.api_key}`, `acme.${caller.keyId}.ak_wrong`])
        yield* lineOf(with_("X-Gateway-Key", name))
      const snapshot = yield* Metric.snapshot
      const counted = snapshot.filter(({ id }) => id === "gateway_signatures_refused_total")
      const counts = { headers: 5, timestamp: 2, host: 1, unknown_key: 1, signature: 1, api_key: 1 }
      const expected = Object.entries(counts).map(([reason, count]) => [{ reason }, { count, incremental: true }])
      expect(new Set(counted.map(({ attributes, state }) => [attributes, state]))).toEqual(new Set(expected))
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})

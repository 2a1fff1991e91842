import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Authentication, type RawRequest } from "../../../src/services/admission/Authentication.ts"
import { ClockTrust } from "../../../src/services/ports/ClockWatch.ts"
import { Nonces, type NonceUse } from "../../../src/services/ports/Nonces.ts"
import { type SigningKey, Tenants } from "../../../src/services/ports/Tenants.ts"
import { fake } from "../../fakes/Fake.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { fakeHash, fakeVault } from "../../fakes/FakeVault.ts"
import file from "../../http/signing-vectors.json" with { type: "json" }
import { caller, signed } from "../../support/RawHttp.ts"

const NOW = file.now * 1000

const signingKey: SigningKey = {
  caller,
  addresses: [],
  apiKeyHash: fakeHash("api_key", Redacted.make(file.api_key)),
  signingSecret: Redacted.make(file.signing_secret),
  lastUsedAt: null
}
const clientAddress = () => "127.0.0.1"
const tenantsWith = (key: SigningKey, noteUse: (hour: number) => Effect.Effect<void> = () => Effect.void) =>
  fake(Tenants, {
    noteUse: (_, hour) => noteUse(hour),
    find: () => Effect.succeedNone,
    keys: () => Effect.succeed([]),
    signingKey: (appId, keyId) =>
      Effect.succeed(appId === caller.appId && keyId === caller.keyId ? Option.some(key) : Option.none())
  })

/** What the authentication says of a request, and the uses of nonces that were spent. Nonces that ended by `forgotten` may be gone. */
const ask = (
  request: Partial<RawRequest>,
  publicHosts: ReadonlyArray<string> = [],
  { forgotten = Number.NEGATIVE_INFINITY, now = NOW, key = signingKey } = {}
) => {
  const trust = Layer.succeed(ClockTrust, {
    trustedUntil: Effect.succeed(now),
    noncesUntil: Effect.succeed(forgotten),
    leaps: Effect.succeed([]),
    begunAt: 0
  })
  const spent: Array<NonceUse> = []
  const nonces = fake(Nonces, { spend: (use) => Effect.sync(() => spent.push(use) === 1) })
  return Effect.gen(function* () {
    yield* TestClock.setTime(now)
    const { authenticate } = yield* Authentication
    const whole = { method: "GET", rawTarget: "/v1/float", rawHeaders: [], body: new Uint8Array(), clientAddress, ...request }
    const found = yield* Effect.result(authenticate(whole))
    if (found._tag === "Failure") return { verdict: found.failure._tag, spent }
    const { caller: by, nonce } = found.success
    return { verdict: "accepted" as const, by, nonce, spent }
  }).pipe(
    Effect.provide(
      Authentication.layer.pipe(Layer.provide([tenantsWith(key), nonces, fakeVault, fakePolicy({ publicHosts }), trust]))
    )
  )
}

const headersOf = (headers: ReadonlyArray<readonly [name: string, value: string]>) => headers.flat()

describe("the authentication of a request", () => {
  it.effect("gives each signing vector its verdict", () =>
    Effect.gen(function* () {
      const verdicts = yield* Effect.forEach(file.vectors, ({ request: { body_base64, headers, host, method, target } }) =>
        ask({
          method,
          rawTarget: target,
          rawHeaders: ["Host", host, ...Object.entries(headers).flat()],
          body: Buffer.from(body_base64, "base64")
        })
      )
      expect(verdicts.map(({ verdict }, at) => [file.vectors[at]?.name, verdict])).toStrictEqual(
        file.vectors.map(({ name, verdict }) => [name, verdict === "401" ? "unauthorized" : verdict])
      )
    })
  )

  it.effect("says who signed, and hands a nonce on that is not spent yet and is kept for 180 s", () =>
    Effect.gen(function* () {
      const headers = signed("GET", "/v1/float")
      const { by, nonce, spent, verdict } = yield* ask({ rawHeaders: headersOf(headers) })
      expect([verdict, by, spent]).toStrictEqual(["accepted", caller, []])
      yield* nonce?.settle ?? Effect.void
      const [, value] = headers.find(([name]) => name === "X-Gateway-Nonce") ?? []
      expect(spent).toStrictEqual([{ caller, nonce: value, expiresAt: NOW + 180_000 }])
    })
  )

  it.effect(
    "accepts nothing whose nonce may be forgotten, however far the clock fell back, and refuses no other request for it",
    () =>
      Effect.gen(function* () {
        const request = { rawHeaders: headersOf(signed("GET", "/v1/float")) }
        const verdict = (fromNow: number, forgottenFromNow: number) =>
          Effect.map(ask(request, [], { now: NOW + fromNow, forgotten: NOW + forgottenFromNow }), (answer) => answer.verdict)
        // Signed at NOW, accepted at any time of its window, and swept as soon as its nonce had ended: after that it is accepted at no time.
        for (const accepted of [-30_000, 0, 60_000, 120_000])
          for (const again of [-30_000, 0, 60_000, 120_000])
            expect(yield* verdict(again, accepted + 180_000)).toBe("unauthorized")
        // While the clock goes forward, nothing that is in its window was ever swept.
        for (const at of [-30_000, 0, 60_000, 120_000]) expect(yield* verdict(at, at)).toBe("accepted")
        expect(yield* verdict(0, 149_999)).toBe("accepted")
      })
  )

  it.effect("takes a request for one of the public hosts, in any case; for any host where none is named", () =>
    Effect.gen(function* () {
      const at = (host: string, publicHosts: ReadonlyArray<string>) =>
        Effect.map(
          ask({ rawHeaders: headersOf(signed("GET", "/v1/float", "", { host })) }, publicHosts),
          ({ verdict }) => verdict
        )
      const hosts = ["API.gateway.example", "pay.example:8443"]
      expect(yield* at("api.GATEWAY.example", hosts)).toBe("accepted")
      expect(yield* at("pay.example:8443", hosts)).toBe("accepted")
      expect(yield* at("pay.example", hosts)).toBe("unauthorized")
      expect(yield* at("anything.example", [])).toBe("accepted")
    })
  )

  it.effect(
    "takes a key that is held to networks from their addresses only, and refuses it elsewhere as it refuses a wrong one",
    () =>
      Effect.gen(function* () {
        const addresses = ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]
        const limited = { ...signingKey, addresses, apiKeyHash: fakeHash("limited_api_key", Redacted.make(file.api_key)) }
        const from = (address: string, key: SigningKey = limited) =>
          ask({ rawHeaders: headersOf(signed("GET", "/v1/float")), clientAddress: () => address }, [], { key })
        const answers = yield* Effect.forEach(
          ["10.1.2.3", "::ffff:10.1.2.3", "192.0.2.7", "2001:db8:1::1", "11.0.0.1", "192.0.2.8", "2001:db9::1", "::a00:1", ""],
          (address) => Effect.map(from(address), ({ spent, verdict }) => [address, verdict, spent.length])
        )
        expect(answers.map(([, verdict]) => verdict)).toStrictEqual([
          ...Array(4).fill("accepted"),
          ...Array(5).fill("unauthorized")
        ])
        // A refused request uses up no nonce.
        expect(answers.slice(4).map(([, , spent]) => spent)).toStrictEqual([0, 0, 0, 0, 0])
        // The release before has the hash of a key of one purpose only, and so refuses a limited one, whoever only reads among them.
        expect((yield* from("10.1.2.3", { ...limited, addresses: [] })).verdict).toBe("unauthorized")
        const reader: SigningKey = { ...limited, addresses: [], caller: { ...caller, role: "reader" } }
        expect((yield* from("10.1.2.3", reader)).verdict).toBe("accepted")
      })
  )

  it.effect("notes the use of a key once an hour, and not what was noted by another node before the key was read", () =>
    Effect.gen(function* () {
      const hours: Array<number> = []
      const HOUR = 3_600_000
      const at = (key: SigningKey) =>
        Effect.gen(function* () {
          const { authenticate } = yield* Authentication
          for (const now of [NOW, NOW + 1_000, NOW + 60_000, NOW + HOUR]) {
            yield* TestClock.setTime(now)
            const rawHeaders = headersOf(signed("GET", "/v1/float", "", { timestamp: Math.floor(now / 1000) }))
            yield* authenticate({ method: "GET", rawTarget: "/v1/float", rawHeaders, body: new Uint8Array(), clientAddress })
            yield* Effect.yieldNow
          }
        }).pipe(
          Effect.provide(
            Layer.fresh(
              Authentication.layer.pipe(
                Layer.provide([
                  tenantsWith(key, (hour) => Effect.sync(() => void hours.push(hour))),
                  fake(Nonces, {}),
                  fakeVault,
                  fakePolicy({ publicHosts: [] }),
                  Layer.succeed(ClockTrust, {
                    trustedUntil: Effect.succeed(NOW),
                    noncesUntil: Effect.succeed(Number.NEGATIVE_INFINITY),
                    leaps: Effect.succeed([]),
                    begunAt: 0
                  })
                ])
              )
            )
          )
        )
      const hour = NOW - (NOW % HOUR)
      yield* at(signingKey)
      expect(hours.splice(0)).toStrictEqual([hour, hour + HOUR])
      yield* at({ ...signingKey, lastUsedAt: hour })
      expect(hours).toStrictEqual([hour + HOUR])
    })
  )

  it.effect("needs the secret, the key and every part of the request: one that differs in any of them is refused", () =>
    Effect.gen(function* () {
      const body = Buffer.from('{"amount_minor":1}')
      const sent = signed("POST", "/v1/payouts", body)
      const good = { method: "POST", rawTarget: "/v1/payouts", rawHeaders: headersOf(sent), body, clientAddress }
      const change = (name: string, value: string) => ({
        ...good,
        rawHeaders: headersOf(sent.map(([header, old]) => [header, header === name ? value : old]))
      })
      const differing: Readonly<Record<string, RawRequest>> = {
        "its method": { ...good, method: "PUT" },
        "its path": { ...good, rawTarget: "/v1/collections" },
        "its query": { ...good, rawTarget: "/v1/payouts?a=1" },
        "its body": { ...good, body: Buffer.from('{"amount_minor":2}') },
        "its host": change("Host", "other.example"),
        "its time": change("X-Gateway-Timestamp", String(file.now + 1)),
        "its nonce": change("X-Gateway-Nonce", "another-nonce-0001"),
        "its tenant": change("X-Gateway-Key", `other.${file.key_id}.${file.api_key}`),
        "its key": change("X-Gateway-Key", `${file.app_id}.k_other.${file.api_key}`),
        "its API key": change("X-Gateway-Key", `${file.app_id}.${file.key_id}.ak_other`)
      }
      expect((yield* ask(good)).verdict).toBe("accepted")
      for (const [what, request] of Object.entries(differing))
        expect([what, (yield* ask(request)).verdict]).toStrictEqual([what, "unauthorized"])
    })
  )
})

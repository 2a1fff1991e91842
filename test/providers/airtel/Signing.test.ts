import { execFileSync } from "node:child_process"
import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Option, Redacted } from "effect"
import { describe } from "vitest"
import type { CountryAccount } from "../../../src/providers/airtel/Client.ts"
import { PIN_REFUSED } from "../../../src/providers/airtel/RefusedPin.ts"
import { encryptedUnder, type Padding, publicKeyIn } from "../../../src/providers/PublicKeys.ts"
import { MemoryOf, processMemory, type SharedMemory } from "../../../src/providers/SharedMemory.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import { Circuits } from "../../../src/services/routing/Circuits.ts"
import { guardedProviders } from "../../../src/services/routing/GuardedProviders.ts"
import { fakePolicy, policy } from "../../fakes/FakePolicy.ts"
import { fakeSharedLateCalls } from "../../fakes/FakePorts.ts"
import { itWith } from "../../support/Installed.ts"
import { collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { answer, type Behaviour, type Seen, stub } from "../ProviderStub.ts"
import { accountIn, charge, open, payout, uganda, zambia } from "./Orders.ts"

const TOKEN = "POST /auth/oauth2/token"
const KEYS = "GET /v1/rsa/encryption-keys"
const token = answer(200, { access_token: "t", expires_in: 180 })

const pair = (bits = 1024) => generateKeyPairSync("rsa", { modulusLength: bits })
const spki = (key: KeyObject): string => key.export({ format: "der", type: "spki" }).toString("base64")
const keyGiven = (key: KeyObject): Behaviour =>
  answer(200, { data: { key_id: 104, key: spki(key), valid_upto: "12-08-2027 21:29:26" }, status: { success: true } })

/** What another program makes of a secret text: OpenSSL shares no line with the gateway's own. */
const opened = (privateKey: KeyObject, text: string, options: ReadonlyArray<string>): string => {
  const folder = mkdtempSync(join(tmpdir(), "airtel-"))
  try {
    const [keyFile, input] = [join(folder, "key.pem"), join(folder, "text")]
    writeFileSync(keyFile, privateKey.export({ format: "pem", type: "pkcs8" }))
    writeFileSync(input, Buffer.from(text, "base64"))
    const modes = options.flatMap((option) => ["-pkeyopt", option])
    return execFileSync("openssl", ["pkeyutl", "-decrypt", "-inkey", keyFile, "-in", input, ...modes]).toString("utf8")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const decrypted = (key: string, iv: string, text: string): string =>
  execFileSync("openssl", ["enc", "-d", "-aes-256-cbc", "-K", hexOf(key), "-iv", hexOf(iv)], {
    input: Buffer.from(text, "base64")
  }).toString("utf8")
const hexOf = (text: string): string => Buffer.from(text, "base64").toString("hex")

/** The body that the headers of a request sign. */
const signedIn = (privateKey: KeyObject, { headers }: Seen): string => {
  const [key = "", iv = ""] = opened(privateKey, String(headers["x-key"]), ["rsa_padding_mode:pkcs1"]).split(":")
  expect([Buffer.from(key, "base64").length, Buffer.from(iv, "base64").length]).toStrictEqual([32, 16])
  return decrypted(key, iv, String(headers["x-signature"]))
}

const prompted = (id: string) => ({
  data: { transaction: { id, status: "SUCCESS" } },
  status: { response_code: "DP00800001006", success: true }
})
const echoing =
  (response: (id: string) => object): Behaviour =>
  (reply, { body }) =>
    answer(200, response(JSON.parse(body).transaction.id))(reply, { line: "", headers: {}, body, port: undefined })

describe("a signed body", () => {
  itWith("openssl", "version")("is what OpenSSL finds in the headers, byte for byte, under another key each time", () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const { privateKey, publicKey } = pair()
          const server = yield* stub({
            [TOKEN]: [token],
            [KEYS]: [keyGiven(publicKey)],
            "POST /merchant/v2/payments/": [echoing(prompted)],
            "POST /standard/v3/disbursements": [
              echoing((id) => ({ data: { transaction: { id, status: "TIP" } }, status: { response_code: "DP00900001006" } }))
            ]
          })
          const account = accountIn("ZM", server.baseUrl, { isSigned: true, version: "v3" })
          const provider = yield* open([account])
          for (const way of [zambia, zambia])
            expect(yield* collectionsOf(provider).charge(charge(way))).toMatchObject({ _tag: "Accepted" })
          expect(yield* payoutsOf(provider).send(payout())).toMatchObject({ _tag: "Accepted" })
          const signed = server.seen.filter(({ headers }) => headers["x-key"] !== undefined)
          expect(signed.map(({ line }) => line)).toStrictEqual([
            "POST /merchant/v2/payments/",
            "POST /merchant/v2/payments/",
            "POST /standard/v3/disbursements"
          ])
          for (const one of signed) expect(signedIn(privateKey, one)).toBe(one.body)
          expect(new Set(signed.map(({ headers }) => headers["x-key"])).size).toBe(3)
          // The key is got once.
          expect(server.seen.filter(({ line }) => line === KEYS)).toHaveLength(1)
        })
      )
    )
  )

  const paddings: ReadonlyArray<readonly [Padding, number, ReadonlyArray<string>]> = [
    ["pkcs1", 1024, ["rsa_padding_mode:pkcs1"]],
    ["oaep-sha1", 1024, ["rsa_padding_mode:oaep", "rsa_oaep_md:sha1", "rsa_mgf1_md:sha1"]],
    ["oaep-sha256", 2048, ["rsa_padding_mode:oaep", "rsa_oaep_md:sha256", "rsa_mgf1_md:sha256"]]
  ]
  for (const [padding, bits, options] of paddings)
    itWith("openssl", "version")(`and a PIN in ${padding} is what OpenSSL reads`, () => {
      const { privateKey, publicKey } = pair(bits)
      const key = publicKeyIn(spki(publicKey))
      if (key === undefined) throw new Error("a key of our own is not read")
      const [one, other] = [encryptedUnder(key, padding, "4821"), encryptedUnder(key, padding, "4821")]
      expect(one).not.toBe(other)
      expect(opened(privateKey, one, options)).toBe("4821")
    })

  it.effect("that is refused for its signature is sent once more with a new key, by the same id, and not a third time", () =>
    Effect.gen(function* () {
      const mismatch = answer(200, { data: {}, status: { response_code: "DP00800001026", success: false } })
      const server = yield* stub({
        [TOKEN]: [token],
        [KEYS]: [keyGiven(pair().publicKey)],
        "POST /merchant/v2/payments/": [mismatch, echoing(prompted), mismatch]
      })
      const provider = yield* open([accountIn("ZM", server.baseUrl, { isSigned: true })])
      expect(yield* collectionsOf(provider).charge(charge(zambia))).toMatchObject({ _tag: "Accepted" })
      expect(yield* collectionsOf(provider).charge(charge(zambia))).toMatchObject({ _tag: "Refused", kind: "config" })
      const lines = server.seen.map(({ line }) => line.replace(/^(\w+) .*\//, "$1 "))
      expect(lines).toStrictEqual([
        "POST token",
        "GET encryption-keys",
        "POST ",
        "GET encryption-keys",
        "POST ",
        "POST ",
        "GET encryption-keys",
        "POST "
      ])
      const ids = server.seen.flatMap(({ body }) => /"id":"(\w+)"/.exec(body)?.[1] ?? [])
      expect([ids[0], ids[2]]).toStrictEqual([ids[1], ids[3]])
    })
  )

  const refusedBeside =
    (transaction: object): Behaviour =>
    (reply, seen) =>
      answer(200, {
        data: { transaction: { id: JSON.parse(seen.body).transaction.id, ...transaction } },
        status: { response_code: "DP00800001026", success: false }
      })(reply, seen)

  it.effect.each(["TIP", "TS", "TA", "SUCCESS"])(
    "that is refused for its signature beside a transaction that is %s is not sent again, and nobody knows: no other provider is asked",
    (status) =>
      Effect.gen(function* () {
        const keys = [keyGiven(pair().publicKey), answer(200, { key: "no key" })]
        const server = yield* stub({
          [TOKEN]: [token],
          [KEYS]: keys,
          "POST /merchant/v2/payments/": [refusedBeside({ status }), echoing(prompted)]
        })
        const provider = yield* open([accountIn("ZM", server.baseUrl, { isSigned: true })])
        expect(yield* collectionsOf(provider).charge(charge(zambia))).toMatchObject({ _tag: "Unknown" })
        expect(server.seen.filter(({ line }) => line.includes("/payments/"))).toHaveLength(1)
      })
  )

  it.effect("that was refused for its signature, and then found no key or no token, is what the first answer says", () =>
    Effect.gen(function* () {
      const PUSH = "POST /merchant/v2/payments/"
      const mismatch = answer(200, { data: {}, status: { response_code: "DP00800001026", success: false } })
      const ended = answer(401, { error: "invalid_token" })
      const noKey = answer(200, { key: "no key" })
      const key = keyGiven(pair().publicKey)
      for (const [keys, tokens, pushes] of [
        [[key, noKey], [token], [mismatch]],
        [[key], [token, answer(500, "")], [mismatch, ended]]
      ]) {
        const server = yield* stub({ [TOKEN]: tokens ?? [], [KEYS]: keys ?? [], [PUSH]: pushes ?? [] })
        const provider = yield* open([accountIn("ZM", server.baseUrl, { isSigned: true })])
        expect(yield* collectionsOf(provider).charge(charge(zambia))).toMatchObject({ _tag: "Refused", kind: "config" })
      }
    })
  )

  it.effect("has no money behind it where there is no key: nothing is sent", () =>
    Effect.gen(function* () {
      const server = yield* stub({ [TOKEN]: [token], [KEYS]: [answer(200, { key: "no key" })] })
      const provider = yield* open([accountIn("ZM", server.baseUrl, { isSigned: true })])
      expect(yield* collectionsOf(provider).charge(charge(zambia))).toMatchObject({ _tag: "NotSent" })
    })
  )
})

describe("the PIN", () => {
  it.effect("that is refused once is not sent again, and other countries go on", () =>
    Effect.gen(function* () {
      const wrongPin = answer(200, { status: { response_code: "ROUTER115", success: false } })
      const server = yield* stub({
        [TOKEN]: [token],
        "POST /standard/v1/disbursements/": [wrongPin],
        "POST /standard/v2/disbursements/": [
          echoing((id) => ({ data: { transaction: { id, status: "TIP" } }, status: { response_code: "DP00900001006" } }))
        ]
      })
      const provider = yield* open([
        accountIn("ZM", server.baseUrl, { pin: Redacted.make("wrong") }),
        accountIn("UG", server.baseUrl, { version: "v2" })
      ])
      expect(yield* payoutsOf(provider).send(payout())).toMatchObject({ _tag: "Refused", kind: "config" })
      expect(yield* payoutsOf(provider).send(payout())).toMatchObject({ _tag: "NotSent" })
      expect(yield* payoutsOf(provider).send(payout(uganda, "4418"))).toMatchObject({ _tag: "Accepted" })
      expect(server.seen.filter(({ line }) => line.includes("/v1/disbursements"))).toHaveLength(1)
    })
  )

  const wrongPin = answer(200, { status: { response_code: "ROUTER115", success: false } })
  const sends = ({ seen }: { readonly seen: ReadonlyArray<Seen> }) => seen.filter(({ line }) => line.includes("/disbursements"))
  const pinned = (baseUrl: string, change: Partial<CountryAccount> = {}) =>
    open([accountIn("ZM", baseUrl, { pin: Redacted.make("4821"), ...change })])

  it.effect("that is refused once is known to every node and after a restart, until a setting of it changes", () =>
    Effect.gen(function* () {
      const server = yield* stub({ [TOKEN]: [token], "POST /standard/v1/disbursements/": [wrongPin] })
      const other = yield* pinned(server.baseUrl)
      expect(yield* payoutsOf(yield* pinned(server.baseUrl)).send(payout())).toMatchObject({ _tag: "Refused", kind: "config" })
      expect(yield* payoutsOf(other).send(payout())).toMatchObject({ _tag: "NotSent" })
      expect(yield* payoutsOf(yield* pinned(server.baseUrl)).send(payout())).toMatchObject({ _tag: "NotSent" })
      expect(sends(server)).toHaveLength(1)
      for (const change of [{ pin: Redacted.make("4822") }, { pinPadding: "oaep-sha1" }] as const)
        yield* payoutsOf(yield* pinned(server.baseUrl, change)).send(payout())
      expect(sends(server)).toHaveLength(3)
    }).pipe(Effect.provideService(MemoryOf, processMemory()))
  )

  it.effect("that is refused stays where it is for a payout that had begun, and waited for its token", () =>
    Effect.gen(function* () {
      const [asked, granted] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const memory = processMemory()
      const server = yield* stub({
        [TOKEN]: [
          (reply, seen) => {
            Deferred.doneUnsafe(asked, Effect.void)
            Effect.runFork(
              Effect.andThen(
                Deferred.await(granted),
                Effect.sync(() => token(reply, seen))
              )
            )
          },
          token
        ],
        "POST /standard/v1/disbursements/": [wrongPin]
      })
      const opened = yield* Effect.provideService(Effect.all([pinned(server.baseUrl), pinned(server.baseUrl)]), MemoryOf, memory)
      const waiting = yield* Effect.forkChild(payoutsOf(opened[0]).send(payout()))
      yield* Deferred.await(asked)
      expect(yield* payoutsOf(opened[1]).send(payout())).toMatchObject({ _tag: "Refused" })
      yield* Deferred.succeed(granted, undefined)
      expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "NotSent" })
      expect(sends(server)).toHaveLength(1)
    })
  )

  it.effect("holds a payout back while what the nodes share cannot be read, and the next one is sent", () =>
    Effect.gen(function* () {
      const memory = processMemory()
      let isDown = true
      const failing: SharedMemory = {
        ...memory,
        get: (name) => Effect.suspend(() => (isDown ? Effect.die(new Error("no database")) : memory.get(name)))
      }
      const server = yield* stub({
        [TOKEN]: [token],
        "POST /standard/v1/disbursements/": [
          echoing((id) => ({ data: { transaction: { id, status: "TIP" } }, status: { response_code: "DP00900001006" } }))
        ]
      })
      const provider = yield* Effect.provideService(pinned(server.baseUrl), MemoryOf, failing)
      expect(yield* payoutsOf(provider).send(payout())).toMatchObject({
        _tag: "NotSent",
        note: "it is not known whether the PIN was refused before"
      })
      isDown = false
      expect(yield* payoutsOf(provider).send(payout())).toMatchObject({ _tag: "Accepted" })
      expect(sends(server)).toHaveLength(1)
    })
  )

  it.effect("that is refused opens no circuit: the payouts of other countries go on", () =>
    Effect.gen(function* () {
      const server = yield* stub({
        [TOKEN]: [token],
        "POST /standard/v1/disbursements/": [wrongPin],
        "POST /standard/v2/disbursements/": [
          echoing((id) => ({ data: { transaction: { id, status: "TIP" } }, status: { response_code: "DP00900001006" } }))
        ]
      })
      const opened = yield* open([
        accountIn("ZM", server.baseUrl, { pin: Redacted.make("wrong") }),
        accountIn("UG", server.baseUrl, { version: "v2" })
      ])
      const registry = Layer.succeed(ProviderRegistry, {
        known: ["airtel"],
        find: () => Option.some({ ...opened, fingerprints: () => [] }),
        accounts: () => [],
        claimed: () => [],
        byRouteKey: () => Option.none(),
        routeKey: () => "",
        keptRouteKeys: () => []
      })
      const circuits = Layer.provide(Circuits.layer, [fakePolicy(), fakeSharedLateCalls])
      const guarded = Layer.provide(guardedProviders, [circuits, registry])
      const { find } = Context.get(yield* Layer.build(guarded), ProviderRegistry)
      const { send } = payoutsOf(Option.getOrThrow(find("airtel", "live")))
      const held = yield* Effect.forEach(Array.from({ length: 2 * policy.circuit.failures }), () => send(payout()))
      expect(held.at(-1)).toMatchObject({ _tag: "NotSent", note: PIN_REFUSED })
      expect(yield* send(payout(uganda, "4418"))).toMatchObject({ _tag: "Accepted" })
    })
  )

  it.effect("is not refused by the answer to a charge, which has none", () =>
    Effect.gen(function* () {
      const server = yield* stub({
        [TOKEN]: [token],
        "POST /merchant/v1/payments/": [wrongPin],
        "POST /standard/v1/disbursements/": [wrongPin]
      })
      const provider = yield* pinned(server.baseUrl)
      yield* collectionsOf(provider).charge(charge(zambia))
      expect(yield* payoutsOf(provider).send(payout())).toMatchObject({ _tag: "Refused", kind: "config" })
      expect(sends(server)).toHaveLength(1)
    }).pipe(Effect.provideService(MemoryOf, processMemory()))
  )
})

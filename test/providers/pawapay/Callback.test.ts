import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { describe } from "vitest"
import { Environment, settings } from "../../../src/Config.ts"
import { pawapayCallbacks } from "../../../src/providers/pawapay/Callback.ts"
import { publicKeyOf } from "../../../src/providers/pawapay/CallbackKeys.ts"
import { paymentId } from "../../../src/providers/pawapay/Wire.ts"
import type { RawCallback } from "../../../src/services/ports/Provider.ts"
import { newReference } from "../contract/Orders.ts"

// Signed here by the standard's own words, without the simulator.

const pair = generateKeyPairSync("ec", { namedCurve: "prime256v1" })
const stranger = generateKeyPairSync("ec", { namedCurve: "prime256v1" })
const reference = newReference()
const payoutId = paymentId(reference)
const text = `{ "payoutId" :"${payoutId}",\n\t"status":  "COMPLETED" ,"clientReferenceId":"${reference}" }\n`
const address = { method: "POST", path: "/webhooks/pawapay/KEY", host: "pay.example" }
const COVERED = ["@method", "@authority", "@path", "signature-date", "content-digest", "content-type", "content-length"]

interface Wish {
  readonly body?: string
  readonly covered?: ReadonlyArray<string>
  readonly parameters?: string
  readonly key?: KeyObject
  readonly encoding?: "der" | "ieee-p1363"
  readonly digest?: "sha-512" | "sha-256"
}

const signed = (wish: Wish = {}): RawCallback => {
  const { body = text, covered = COVERED, digest = "sha-512", encoding = "der", key = pair.privateKey } = wish
  const { parameters = ';alg="ecdsa-p256-sha256";keyid="K:1";created=1790000000;expires=1790000060' } = wish
  const hash = createHash(digest.replace("-", "")).update(body).digest("base64")
  const headers: Record<string, string> = {
    host: address.host,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "signature-date": "2026-11-20T11:17:01Z",
    "content-digest": `${digest}=:${hash}:`
  }
  const derived: Record<string, string> = { "@method": address.method, "@authority": address.host, "@path": address.path }
  const params = `(${covered.map((name) => `"${name}"`).join(" ")})${parameters}`
  const lines = [...covered.map((name) => `"${name}": ${derived[name] ?? headers[name]}`), `"@signature-params": ${params}`]
  const signature = sign("sha256", Buffer.from(lines.join("\n")), { key, dsaEncoding: encoding }).toString("base64")
  return {
    method: address.method,
    path: address.path,
    headers: { ...headers, "signature-input": `sig-pp=${params}`, signature: `sig-pp=:${signature}:` },
    body: Buffer.from(body)
  }
}

const keys = { current: () => [{ id: "K:1", key: pair.publicKey }] }
const callbacks = pawapayCallbacks(keys, [])
const verified = (callback: RawCallback) => Option.getOrNull(callbacks.verify(callback))
const withHeaders = (callback: RawCallback, headers: Record<string, string | undefined>) => ({
  ...callback,
  headers: { ...callback.headers, ...headers }
})
const hint = { reference, providerReference: payoutId, says: "successful" }

describe("a genuine callback points at its payment", () => {
  const genuine: ReadonlyArray<readonly [string, RawCallback]> = [
    ["with a signature as pawaPay writes it", signed()],
    ["with a signature as the standard writes it", signed({ encoding: "ieee-p1363" })],
    ["with the shorter digest", signed({ digest: "sha-256" })],
    [
      "without the members that are no part of the message",
      signed({ covered: ["@method", "@authority", "@path", "content-digest"] })
    ],
    ["whose host came in capitals and with its port", withHeaders(signed(), { host: "PAY.example:443" })],
    ["without the key's name", signed({ parameters: "" })],
    [
      "with another digest that nobody knows",
      withHeaders(signed({ covered: ["content-digest", "@path", "@authority", "@method"] }), {})
    ]
  ]
  for (const [name, callback] of genuine) it(name, () => expect(verified(callback)).toEqual(hint))

  it("by its identifier alone, and at nothing when its shape is unknown", () => {
    const depositId = paymentId(newReference())
    expect(verified(signed({ body: JSON.stringify({ depositId, status: "FAILED" }) }))).toEqual({
      reference: null,
      providerReference: depositId,
      says: "failed"
    })
    const foreign = JSON.stringify({ depositId, status: "FAILED", clientReferenceId: "INV-123" })
    expect(verified(signed({ body: foreign }))).toEqual({ reference: null, providerReference: depositId, says: "failed" })
    for (const body of ["", "[]", "hello", '{"status":"FAILED","payoutId":"x"}'])
      expect(verified(signed({ body }))).toMatchObject({ reference: null, providerReference: null })
  })

  it("signed for a host of the settings, whatever host a proxy made of it; signed for another, whatever Host says, it is nobody's", () => {
    const set = pawapayCallbacks(keys, ["old.example", "pay.example"])
    for (const host of ["pay.example", "10.0.0.7:8080", undefined, ""])
      expect(Option.getOrNull(set.verify(withHeaders(signed(), { host })))).toEqual(hint)
    const elsewhere = pawapayCallbacks(keys, ["gateway.example", "pay.example:8443"])
    for (const host of ["pay.example", "gateway.example"])
      expect(elsewhere.verify(withHeaders(signed(), { host }))).toStrictEqual(Option.none())
  })

  it.effect("signed for the hosts that PAWAPAY_CALLBACK_HOSTS names", () =>
    Effect.gen(function* () {
      for (const [host, isGenuine] of [
        ["pay.example", true],
        ["gateway.example", false]
      ] as const) {
        const { providers } = yield* Effect.provideService(settings, Environment, {
          PAWAPAY_BASE_URL: "https://api.pawapay.io/v2",
          PAWAPAY_PAYOUT_FEES: "UGX:momo:1000",
          PAWAPAY_COLLECTION_FEE: "1.5%",
          PAWAPAY_LIVE_API_TOKEN: "token",
          PAWAPAY_LIVE_CALLBACK_KEY: pair.publicKey.export({ type: "spki", format: "pem" }).toString(),
          PAWAPAY_CALLBACK_HOSTS: host
        })
        const opened = yield* Effect.flatMap(Effect.fromNullishOr(providers[0]), ({ open }) => open)
        expect(opened.map(({ adapter }) => Option.isSome(adapter.callbacks.verify(signed())))).toEqual([isGenuine])
      }
    }).pipe(Effect.scoped)
  )

  it("signed with a key of the settings, whatever its name", () => {
    const pem = pair.publicKey.export({ type: "spki", format: "pem" }).toString()
    const inner = pair.publicKey.export({ type: "spki", format: "der" }).toString("base64")
    for (const written of [pem, inner, pem.replaceAll("\n", "\\n")]) {
      const key = publicKeyOf(written)
      if (key === undefined) throw new Error("no key")
      const pinned = pawapayCallbacks({ current: () => [{ id: null, key }] }, [])
      expect(Option.getOrNull(pinned.verify(signed({ parameters: ';keyid="another"' })))).toEqual(hint)
      expect(pinned.refreshKeys).toBeUndefined()
    }
  })
})

describe("a callback is refused", () => {
  const genuine = signed()
  const altered = Buffer.from(text.replace("COMPLETED", "FAILED   "))
  const digestOf = (body: Buffer) => `sha-512=:${createHash("sha512").update(body).digest("base64")}:`
  const base = ["@method", "@authority", "@path", "content-digest"]
  const forged: ReadonlyArray<readonly [string, RawCallback]> = [
    ["with another body", { ...genuine, body: altered }],
    ["with another body and its digest", withHeaders({ ...genuine, body: altered }, { "content-digest": digestOf(altered) })],
    ["signed by somebody else", signed({ key: stranger.privateKey })],
    ["that was sent to another path", { ...genuine, path: "/webhooks/pawapay/OTHER" }],
    ["that was sent to another host", withHeaders(genuine, { host: "other.example" })],
    ["that was sent by another method", { ...genuine, method: "PUT" }],
    ["with another date", withHeaders(genuine, { "signature-date": "2026-11-20T11:17:02Z" })],
    ["with a signed header missing", withHeaders(genuine, { "content-type": undefined })],
    ["without a signature", withHeaders(genuine, { signature: undefined })],
    ["without the signature's list", withHeaders(genuine, { "signature-input": undefined })],
    ["without a digest", withHeaders(genuine, { "content-digest": undefined })],
    ["with a digest that nobody knows", withHeaders(genuine, { "content-digest": "md5=:AAAA:" })],
    [
      "with a digest that fits beside one that does not",
      withHeaders(genuine, { "content-digest": `${digestOf(Buffer.from(text))}, sha-256=:AAAA:` })
    ],
    [
      "with a signature under another label",
      withHeaders(genuine, { signature: genuine.headers["signature"]?.replace("sig-pp", "sig-xx") })
    ],
    ["with a signature that is none", withHeaders(genuine, { signature: "sig-pp=:AAAA:" })],
    ["with two signatures", withHeaders(genuine, { signature: `${genuine.headers["signature"]}, sig-pp=:AAAA:` })],
    ["by another algorithm", signed({ parameters: ';alg="hmac-sha256";keyid="K:1"' })],
    ["by a key that nobody knows", signed({ parameters: ';keyid="K:2"' })],
    ["that covers a member twice", signed({ covered: [...base, "@path"] })],
    ["that covers a member nobody knows", signed({ covered: [...base, "@target-uri"] })],
    ["that covers a header which was not sent, by the name of what every object has", signed({ covered: [...base, "toString"] })],
    ["that covers nothing", signed({ covered: [] })]
  ]
  for (const [name, callback] of forged) it(name, () => expect(verified(callback)).toBeNull())

  for (const name of base)
    it(`whose signature leaves out ${name}`, () =>
      expect(verified(signed({ covered: base.filter((one) => one !== name) }))).toBeNull())

  it("while there is no key", () =>
    expect(pawapayCallbacks({ current: () => [] }, []).verify(genuine)).toStrictEqual(Option.none()))
})

describe("a key", () => {
  it("is on P-256 only", () => {
    const other = generateKeyPairSync("ec", { namedCurve: "secp384r1" })
      .publicKey.export({ type: "spki", format: "pem" })
      .toString()
    const ed = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }).toString()
    const secret = pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString()
    for (const written of ["", "hello", other, ed, secret]) expect(publicKeyOf(written)).toBeUndefined()
  })
})

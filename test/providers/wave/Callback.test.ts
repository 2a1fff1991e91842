import { createHmac } from "node:crypto"
import { Option, Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { waveCallbacks } from "../../../src/providers/wave/Callback.ts"
import { newReference } from "../contract/Orders.ts"

const SECRET = "wave_sn_WHS_secret"
const reference = newReference()
// The event of Wave's documents, with white space that must not matter.
const event = (type: string, checkout_status = "complete", payment_status = "succeeded") =>
  `{ "id":"EV_9xK2", "type":"${type}","data":{"id":"cos-1s9t0xyz2a4b6","checkout_status":"${checkout_status}","payment_status":"${payment_status}","transaction_id":"T_7QK2M9XZ41","client_reference":"${reference}","amount":"15000","currency":"XOF"}}\n`
const body = event("checkout.session.completed")
const digestOf = (text: string, secret = SECRET) => createHmac("sha256", secret).update(text).digest("hex")
const { verify } = waveCallbacks([Redacted.make("wave_ci_WHS_other"), Redacted.make(SECRET), Redacted.make("")])
const verified = (headers: Record<string, string>, text = body) =>
  Option.getOrNull(verify({ method: "POST", path: "/webhooks/x", headers, body: Buffer.from(text) }))
const hint = { reference, providerReference: "cos-1s9t0xyz2a4b6", says: "successful" }
const T = "1764342245"

describe("a callback of Wave's", () => {
  it("is genuine when it is signed over its time and, directly behind it, its bytes", () => {
    expect(verified({ "wave-signature": `t=${T},v1=${digestOf(T + body)}` })).toStrictEqual(hint)
    expect(verified({ "wave-signature": `t=${T}, v1=${"0".repeat(64)}, v1=${digestOf(T + body)}` })).toStrictEqual(hint)
  })

  it("is genuine when it shows the secret as a bearer", () => {
    expect(verified({ authorization: `Bearer ${SECRET}` })).toStrictEqual(hint)
  })

  const forged: ReadonlyArray<readonly [what: string, headers: Record<string, string>, text?: string]> = [
    ["without a header", {}],
    ["with another byte", { "wave-signature": `t=${T},v1=${digestOf(T + body)}` }, `${body} `],
    ["with another time", { "wave-signature": `t=1764342246,v1=${digestOf(T + body)}` }],
    ["with a dot between", { "wave-signature": `t=${T},v1=${digestOf(`${T}.${body}`)}` }],
    ["without a time", { "wave-signature": `v1=${digestOf(body)}` }],
    ["signed with nothing", { "wave-signature": `t=${T},v1=${digestOf(T + body, "")}` }],
    ["of another version", { "wave-signature": `t=${T},v0=${digestOf(T + body)}` }],
    ["with a part of the signature", { "wave-signature": `t=${T},v1=${digestOf(T + body).slice(0, 62)}` }],
    ["with a wrong signature beside the secret", { "wave-signature": `t=${T},v1=00`, authorization: `Bearer ${SECRET}` }],
    ["with another bearer", { authorization: "Bearer wave_sn_WHS_guess" }],
    ["with an empty bearer", { authorization: "Bearer " }],
    ["with the secret and no scheme", { authorization: SECRET }]
  ]
  for (const [what, headers, text] of forged)
    it(`is none ${what}`, () => {
      expect(verified(headers, text)).toBeNull()
    })

  it("says what its session is, and that a payment which failed is not the end", () => {
    const shown = (text: string) => verified({ authorization: `Bearer ${SECRET}` }, text)
    expect(shown(event("checkout.session.payment_failed", "open", "processing"))).toMatchObject({ reference, says: "pending" })
    expect(shown(event("checkout.session.completed", "paused"))).toStrictEqual({
      reference,
      providerReference: hint.providerReference
    })
  })

  it("about a till, another business or a test points at nothing", () => {
    const nothing = { reference: null, providerReference: null }
    for (const type of ["merchant.payment_received", "b2b.payment_received", "b2b.payment_failed", "test.test_event"])
      expect(verified({ authorization: `Bearer ${SECRET}` }, event(type))).toStrictEqual(nothing)
  })
})

import { createHash, createHmac } from "node:crypto"
import { expect, it } from "@effect/vitest"
import { Option, Redacted } from "effect"
import { describe } from "vitest"
import { eversendCallbacks } from "../../../src/providers/eversend/Callback.ts"
import { newReference } from "./Orders.ts"

const SECRET = "webhook-secret"
const reference = newReference()
const text = `{ "type" :"payout.success",\n\t"data":  {"transactionRef": "${reference}" ,"transactionId":"BP1", "amount" : "5.10" } }\n`

const sign = (body: string, secret = SECRET, hash = "sha512") => createHmac(hash, secret).update(body).digest("hex")

const verified = (body: string, signature: string | undefined, secret = SECRET) =>
  eversendCallbacks(Redacted.make(secret)).verify({
    method: "POST",
    path: "/",
    headers: { "x-eversend-signature": signature },
    body: Buffer.from(body)
  })

describe("a genuine callback points at its transaction", () => {
  const bodies: ReadonlyArray<readonly [string, string, object]> = [
    ["inside data", text, { reference, providerReference: "BP1", says: "successful" }],
    [
      "flat",
      JSON.stringify({ eventType: "transaction.payout.successful", transactionRef: reference }),
      { reference, providerReference: null, says: "successful" }
    ],
    [
      "whose money came back",
      JSON.stringify({ type: "payout.refunded", data: { transactionRef: reference, status: "successful" } }),
      { reference, providerReference: null, says: "returned" }
    ],
    [
      "whose event is none that we know, by its status",
      JSON.stringify({ eventType: "transaction.update", data: { transactionRef: reference, status: "failed" } }),
      { reference, providerReference: null, says: "failed" }
    ],
    [
      "by the identifier alone",
      JSON.stringify({ type: "x", data: { transactionId: 792 } }),
      { reference: null, providerReference: "792" }
    ],
    [
      "with a reference that is not ours",
      JSON.stringify({ transactionRef: "gw-1" }),
      { reference: null, providerReference: null }
    ],
    [
      "with an endless identifier",
      JSON.stringify({ transactionId: "9".repeat(65) }),
      { reference: null, providerReference: null }
    ],
    ["of an unknown shape", "[1,2]", { reference: null, providerReference: null }],
    ["that is not JSON", "hello", { reference: null, providerReference: null }]
  ]
  for (const [name, body, hint] of bodies) {
    it(name, () => expect(verified(body, sign(body))).toEqual(Option.some(hint)))
  }

  it("also with a signature in capitals", () => expect(Option.isSome(verified(text, sign(text).toUpperCase()))).toBe(true))
})

describe("a forged callback is refused", () => {
  const signature = sign(text)
  const forgeries: ReadonlyArray<readonly [string, string, string | undefined]> = [
    ["without a signature", text, undefined],
    ["with an empty signature", text, ""],
    ["with a signature that is too short", text, signature.slice(2)],
    ["with a signature that is not hexadecimal", text, `zz${signature.slice(2)}`],
    ["with another secret", text, sign(text, "another")],
    ["hashed without the secret, as a sample of Eversend's does", text, createHash("sha512").update(text).digest("hex")],
    ["with SHA-256", text, sign(text, SECRET, "sha256")],
    ["altered by a byte", text.replace("5.10", "9.10"), signature],
    ["written again by a serializer", JSON.stringify(JSON.parse(text)), signature]
  ]
  for (const [name, body, given] of forgeries) {
    it(name, () => expect(verified(body, given)).toEqual(Option.none()))
  }

  it("when an empty secret is set", () => {
    expect(verified(text, sign(text, ""), "")).toEqual(Option.none())
  })
})

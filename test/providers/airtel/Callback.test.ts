import { createHmac } from "node:crypto"
import { Option, Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { airtelCallbacks } from "../../../src/providers/airtel/Callback.ts"

const KEY = "the portal's private key"
const hashOf = (text: string, key = KEY) => createHmac("sha256", key).update(text).digest("base64")

/** As the portal's page shows it: blanks and escapes where a serialiser of ours would put none. */
const transaction =
  '{ "id":"9c1b7a52f4de4c8d", "message":"Paid UGX 15,000 \\u0041da {TID}","status_code":"TS","airtel_money_id":"CI261128.1422.H71203" }'
const withHash = (hash: string) => `{"transaction":${transaction},"hash":${JSON.stringify(hash)}}`

const verify = (body: string, keys: ReadonlyArray<string> = [KEY]) =>
  airtelCallbacks(keys.map((key) => Redacted.make(key))).verify({
    method: "POST",
    path: "/",
    headers: {},
    body: Buffer.from(body)
  })

const hint = { reference: null, providerReference: "9c1b7a52f4de4c8d" }

describe("a callback of Airtel's", () => {
  it("is believed in what it says by the hash of the body without it, or of the transaction alone", () => {
    const said = Option.some({ ...hint, says: "successful" })
    expect(verify(withHash(hashOf(`{"transaction":${transaction}}`)))).toStrictEqual(said)
    expect(verify(withHash(hashOf(transaction)))).toStrictEqual(said)
    expect(verify(`{"hash":"${hashOf(transaction)}","transaction":${transaction}}`)).toStrictEqual(said)
    // Each country's application has a key of its own.
    expect(verify(withHash(hashOf(transaction, "Zambia's")), [KEY, "Zambia's"])).toStrictEqual(said)
  })

  it("without a hash that fits is only a reason to ask", () => {
    const compact = JSON.stringify(JSON.parse(transaction))
    for (const body of [
      `{"transaction":${transaction}}`,
      withHash(hashOf(transaction, "another key")),
      withHash(hashOf(compact)),
      withHash(""),
      withHash(hashOf(transaction).slice(1)),
      `{"transaction":${transaction},"hash":[]}`
    ])
      expect(verify(body)).toStrictEqual(Option.some(hint))
  })

  it("says what it says where the application authenticates none", () => {
    expect(verify(`{"transaction":${transaction}}`, [])).toStrictEqual(Option.some({ ...hint, says: "successful" }))
  })

  it("is none in another form", () => {
    for (const body of ["", "[]", '{"transaction":[]}', '{"hash":"x"}', '{"transaction":{"status_code":"TS"}}'])
      expect(verify(body)).toStrictEqual(Option.none())
  })
})

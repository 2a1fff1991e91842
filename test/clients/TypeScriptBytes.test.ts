import { createHmac, randomBytes } from "node:crypto"
import { describe, expect, it } from "vitest"
import { vectors } from "../../clients/signing/vectors.ts"
import { verifyWebhook, WebhookError } from "../../clients/typescript/src/Gateway.ts"
import { parse, stringify } from "../../clients/typescript/src/Json.ts"
import { queryText, signature } from "../../clients/typescript/src/Signing.ts"

describe("the TypeScript client's JSON", () => {
  it("keeps every digit of every integer, both ways", () => {
    const text =
      '{"amount_minor":9007199254740991,"fees_minor":0,"at":"12345678901234567890","metadata":{"order":-12345678901234567890,"n":1}}'
    const value = parse(text)
    expect(value).toStrictEqual({
      amount_minor: 9007199254740991n,
      fees_minor: 0n,
      at: "12345678901234567890",
      metadata: { order: -12345678901234567890n, n: 1 }
    })
    expect(stringify(value)).toBe(text)
  })

  it("reads a record whose metadata has members named like amounts, and leaves them as they are", () => {
    const text = '{"amount_minor":5,"metadata":{"discount_minor":1.5,"tip_minor":2,"parts":[{"each_minor":0.5}]}}'
    expect(parse(text)).toStrictEqual({
      amount_minor: 5n,
      metadata: { discount_minor: 1.5, tip_minor: 2, parts: [{ each_minor: 0.5 }] }
    })
    expect(parse('{"rate_minor":1.5}')).toStrictEqual({ rate_minor: 1.5 })
  })

  it("is the runtime's own in everything else", () => {
    const value = { a: [1.5, null, '\u2028"\\', { b: true }], "c d": new Date(0), e: -1e21, f: "1234567890123456789" }
    expect(stringify({ ...value, gone: undefined })).toBe(JSON.stringify(value))
    expect(parse(JSON.stringify(value))).toStrictEqual(JSON.parse(JSON.stringify(value)))
  })
})

describe("the TypeScript client's signature", () => {
  it("is that of the published vectors, but for requests that the client never makes", async () => {
    let checked = 0
    for (const vector of vectors()) {
      const [path = "", ...rest] = vector.target.split("?")
      const query = rest.join("?")
      const pairs = query
        .split("&")
        .filter((pair) => pair !== "")
        .map((pair) => pair.split("=").map(decodeURIComponent))
      const names = new Set(pairs.map(([name]) => name))
      const isSigned = vector.method !== "GET" && vector.method !== "DELETE"
      const body = isSigned ? Buffer.from(vector.body_base64, "base64").toString() : ""
      const isText = !isSigned || Buffer.from(body).toString("base64") === vector.body_base64
      // Methods in capitals, a name once in a query, a body of text.
      if (vector.method !== vector.method.toUpperCase() || names.size < pairs.length || !isText) continue
      const own = query === "" ? "" : queryText(Object.fromEntries(pairs.map(([name, ...value]) => [name, value.join("=")])))
      expect(await signature(vector, { ...vector, path, query: own, body }), vector.name).toBe(vector.signature)
      checked++
    }
    expect(checked).toBeGreaterThan(100)
  })
})

describe("the TypeScript client's webhooks", () => {
  const secret = `whsec_${randomBytes(32).toString("base64")}`
  // With characters of two, three and four bytes.
  const text = '{"id":"DWC6","type":"payout.failed","data":{"amount_minor":10000,"narration":"thé 商店 💸","version":2}}'
  const now = Math.floor(Date.now() / 1000)
  const headers = (signedWith = secret, timestamp = now, id = "DWC6") => {
    const bytes = Buffer.from(signedWith.replace("whsec_", ""), "base64")
    const mac = createHmac("sha256", bytes).update(`${id}.${timestamp}.${text}`).digest("base64")
    return { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": `v1,${mac}` }
  }
  const problem = (given: Partial<Parameters<typeof verifyWebhook>[0]>) =>
    verifyWebhook({ secret, headers: headers(), body: text, ...given }).then(
      () => undefined,
      (error: unknown) => (error instanceof WebhookError ? error.problem : error)
    )
  const other = `whsec_${randomBytes(32).toString("base64")}`

  it("are verified over their bytes, with the headers of a Request or of Node, and typed by their type", async () => {
    const shouted = Object.fromEntries(Object.entries(headers()).map(([name, value]) => [name.toUpperCase(), value]))
    for (const given of [headers(), new Headers(headers()), shouted])
      for (const body of [text, new TextEncoder().encode(text)]) {
        const event = await verifyWebhook({ secret, headers: given, body })
        if (event.type !== "payout.failed") throw new Error(event.type)
        const amount: bigint = event.data.amount_minor
        expect(amount).toBe(10_000n)
      }
  })

  it("are believed by any of several signatures and secrets", async () => {
    const { "webhook-signature": foreign } = headers(other)
    const both = { ...headers(), "webhook-signature": `v1a,x ${foreign} v1,?? ${headers()["webhook-signature"]}` }
    expect(await problem({ headers: both })).toBeUndefined()
    expect(await problem({ secret: [other, secret] })).toBeUndefined()
  })

  it("are refused with the reason", async () => {
    expect(await problem({ secret: other })).toBe("signature_wrong")
    for (const word of ["whsec_???", "whsec_", "null", "whsec_null", "test"])
      expect(await problem({ secret: word, headers: headers(word) }), word).toBe("secret_malformed")
    expect(await problem({ body: `${text} ` })).toBe("signature_wrong")
    expect(await problem({ headers: { ...headers(), "webhook-id": "other" } })).toBe("signature_wrong")
    expect(await problem({ headers: {} })).toBe("header_missing")
    for (const timestamp of [now - 301, now + 400, Number.NaN])
      expect(await problem({ headers: headers(secret, timestamp) })).toBe("timestamp_outside_window")
    expect(await problem({ headers: headers(secret, now - 301), toleranceSeconds: 600 })).toBeUndefined()
  })
})

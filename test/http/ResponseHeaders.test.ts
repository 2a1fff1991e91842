import { describe, expect, it } from "vitest"
import { onEdge } from "../support/EdgeClient.ts"

const HOST = ["Host", "api.gateway.example"] as const
const kept = (answer: { headers: Readonly<Record<string, string>> }) => [
  answer.headers["cache-control"],
  answer.headers["x-content-type-options"]
]

describe("a response", () => {
  it(
    "is never cached and its type never guessed, whatever its status and whichever part of the server writes it",
    onEdge(
      async ({ ask, bytes, signed }) => {
        const answers = [
          await signed("GET", "/v1/float"),
          await signed("GET", "/v1/nowhere"),
          await signed("PUT", "/v1/float"),
          await signed("POST", "/v1/payouts", [], "{"),
          await signed("POST", "/v1/payouts", [["Content-Type", "text/plain"]], "{"),
          await signed("GET", "/v1/float", [["Origin", "https://evil.example"]]),
          await signed("GET", "/v1/transactions/none"),
          await signed("GET", "/v1/float"),
          await ask("GET", "/v1/float"),
          await ask("OPTIONS", "/V1/Payouts"),
          await ask("POST", "/v1/payouts", [HOST], "x".repeat(65_537)),
          await ask("POST", "/webhooks/eversend/secret-1", [HOST], "{}"),
          await ask("POST", "/webhooks/eversend/secret-2", [HOST], "{}"),
          await ask("GET", "/health"),
          await ask("GET", "/nowhere"),
          await bytes("nonsense\r\n\r\n"),
          await bytes(`GET /v1/float HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`),
          await bytes("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n")
        ]
        expect(answers.map(({ status }) => status)).toEqual([
          200, 404, 405, 400, 415, 403, 404, 429, 401, 401, 413, 200, 404, 200, 404, 400, 400, 405
        ])
        expect(answers.map(kept)).toEqual(answers.map(() => ["no-store", "nosniff"]))
      },
      // The full bucket holds those before the one that is refused for its rate.
      { rate: { count: 1, windowMs: 3_600_000, burst: 4 } }
    )
  )
})

describe("the interface description", () => {
  it(
    "is answered 304 to a client that has it, and compressed for a client that accepts it",
    onEdge(async ({ ask, port }) => {
      const get = (target: string, headers: Readonly<Record<string, string>> = {}) =>
        ask("GET", target, [HOST, ...Object.entries(headers)])
      for (const target of ["/openapi.json", "/docs"]) {
        const plain = await get(target)
        expect([plain.status, plain.headers["content-encoding"], kept(plain)]).toEqual([200, undefined, ["no-cache", "nosniff"]])
        expect(plain.headers["vary"]).toBe("accept-encoding")
        const tag = plain.headers["etag"] ?? ""
        expect(tag).toMatch(/^"[\w-]{43}"$/)
        for (const value of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
          const same = await get(target, { "If-None-Match": value })
          expect([same.status, same.text, same.headers["etag"], same.headers["x-request-id"] !== undefined]).toEqual([
            304,
            "",
            tag,
            true
          ])
        }
        expect((await get(target, { "If-None-Match": '"other"' })).status).toBe(200)
        for (const encoding of ["gzip", "br, gzip;q=0.5", "*", "GZIP"]) {
          const answer = await fetch(`http://127.0.0.1:${port}${target}`, { headers: { "accept-encoding": encoding } })
          expect([answer.headers.get("content-encoding"), await answer.text()]).toEqual(["gzip", plain.text])
          expect(answer.headers.get("etag")).toBe(tag.replace(/"$/, '-gzip"'))
        }
        for (const encoding of ["identity", "br", "gzip;q=0", "gzip;q=0.0, *", ""])
          expect((await get(target, { "Accept-Encoding": encoding })).headers["content-encoding"]).toBe(undefined)
        const zipped = await get(target, { "Accept-Encoding": "gzip" })
        expect(Number(zipped.headers["content-length"])).toBeLessThan((plain.text.length * 2) / 3)
      }
    })
  )
})

import { describe, expect, it } from "vitest"
import { onEdge } from "../../support/EdgeClient.ts"
import { signed } from "../../support/RawHttp.ts"

const parsed = (answer: { text: string }) => JSON.parse(answer.text)
const code = (answer: { text: string }): string => parsed(answer).error?.code ?? parsed(answer).message
const HOST = ["Host", "api.gateway.example"] as const

describe("the HTTP edge", () => {
  it(
    "answers 401 in the same bytes whatever was wrong",
    onEdge(async ({ ask, bytes, signed: asSigned }) => {
      const sign = (target = "/v1/float") => signed("GET", target)
      const without = (name: string) => sign().filter(([header]) => header !== name)
      const changed = (name: string, value: string) =>
        sign().map(([header, old]) => [header, header === name ? value : old] as const)
      const used = sign()
      expect((await ask("GET", "/v1/float", used)).status).toBe(200)
      const answers = [
        await ask("GET", "/v1/float", used),
        await ask("GET", "/v1/float"),
        await ask("GET", "/v1/nowhere"),
        await ask("PATCH", "/v1/float"),
        await ask("OPTIONS", "/v1/payouts"),
        await ask("GET", "//V1//float/"),
        await ask("GET", "/%76%31/float"),
        await ask("GET", "/health/detail"),
        await ask("GET", "http://api.gateway.example/v1/float", sign()),
        await ask("GET", "/v1/float", without("Host")),
        await ask("GET", "/v1/float", without("X-Gateway-Nonce")),
        await ask("GET", "/v1/float", [...sign(), ["Host", "evil.example"]]),
        await ask("GET", "/v1/float", [["Host", "evil.example"], ...sign()]),
        ...(await Promise.all(
          ["X-Gateway-Key", "X-Gateway-Timestamp", "X-Gateway-Nonce", "X-Gateway-Signature"].map((name) => {
            const headers = sign()
            return ask("GET", "/v1/float", [...headers, ...headers.filter(([header]) => header === name)])
          })
        )),
        await ask("GET", "/v1/float", changed("X-Gateway-Key", "acme.k_7Qm2.ak_wrong")),
        await ask("GET", "/v1/float", changed("X-Gateway-Key", "nobody.k_7Qm2.ak_5f0c2f6d9b1e4a7c8d3e2f1a0b9c8d7e")),
        await ask("GET", "/v1/float?q=%zz", sign("/v1/float?q=%zz")),
        await bytes("GET /v1/float HTTP/1.0\r\n\r\n")
      ]
      for (const answer of answers) expect(answer.status, answer.text).toBe(401)
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      expect((await asSigned("GET", "/v1/float")).status).toBe(200)
    })
  )

  it(
    "does not spend a nonce on a signature that is wrong",
    onEdge(async ({ ask }) => {
      const headers = signed("GET", "/v1/float")
      expect((await ask("GET", "/v1/collections", headers)).status).toBe(401)
      expect((await ask("GET", "/v1/float", headers)).status).toBe(200)
    })
  )

  it(
    "accepts only its own public hosts",
    onEdge(
      async ({ ask }) => {
        expect((await ask("GET", "/v1/float", signed("GET", "/v1/float", "", { host: "API.example:8080" }))).status).toBe(200)
        expect((await ask("GET", "/v1/float", signed("GET", "/v1/float"))).status).toBe(401)
      },
      { publicHosts: ["api.example:8080"] }
    )
  )

  it(
    "signs HEAD and serves it as GET without a body",
    onEdge(async ({ ask, port }) => {
      const { request } = await import("node:http")
      const headers = Object.fromEntries(signed("HEAD", "/v1/float"))
      const [status, length] = await new Promise<[number | undefined, number]>((resolve, reject) => {
        request({ port, host: "127.0.0.1", path: "/v1/float", method: "HEAD", headers }, (response) => {
          let bytes = 0
          response.on("data", (chunk) => (bytes += chunk.length)).on("end", () => resolve([response.statusCode, bytes]))
        })
          .on("error", reject)
          .end()
      })
      expect([status, length]).toEqual([200, 0])
      expect((await ask("GET", "/health")).status).toBe(200)
    })
  )

  it(
    "matches a path only in its exact spelling",
    onEdge(async ({ signed: ask }) => {
      const reference = "00000000000000000000000001"
      for (const target of [
        "/v1/Float",
        "/v1/float/",
        "/v1//float",
        "//V1//Payouts/",
        "/v1/%66loat",
        "/v1/%70ayouts",
        "/v1",
        "/v1/",
        "/v1/float;x",
        "/v1/payouts/a%2Fb",
        `/v1/payouts/${"a".repeat(101)}`,
        `/v1/payouts/${reference}/`
      ]) {
        const answer = await ask("GET", target)
        expect([target, answer.status, code(answer)]).toEqual([target, 404, "not_found"])
      }
      expect((await ask("GET", `/v1/payouts/${reference}`)).status).toBe(200)
    })
  )

  it(
    "reads a query to the end of the target, whatever is in it",
    onEdge(async ({ ask }) => {
      const list = (query: string, canonicalQuery: string) =>
        ask("GET", `/v1/transactions?${query}`, signed("GET", `/v1/transactions?${query}`, "", { canonicalQuery }))
      expect((await list("limit=1", "limit=1")).status).toBe(200)
      expect((await list("limit=%31", "limit=1")).status).toBe(200)
      for (const [query, canonical] of [
        ["limit=1&kind=nonsense", "kind=nonsense&limit=1"],
        ["limit=1#&kind=nonsense", "kind=nonsense&limit=1%23"],
        ["#&kind=nonsense", "%23=&kind=nonsense"],
        ["limit=1&limit=2", "limit=1&limit=2"],
        ["__proto__=1", "__proto__=1"]
      ] as const)
        expect([query, code(await list(query, canonical))]).toEqual([query, "validation_failed"])
    })
  )

  it(
    "answers the same bytes for an absent reference and a malformed one",
    onEdge(async ({ signed: ask }) => {
      const answers = await Promise.all(
        ["ZZZZZZZZZZZZZZZZZZZZZZZZZZ", "x", "..", "quote-1"].map((id) => ask("GET", `/v1/transactions/${id}`))
      )
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      expect(answers[0]?.status).toBe(404)
    })
  )

  it(
    "names the methods of a path in its 405",
    onEdge(async ({ ask, signed: asSigned }) => {
      const wrong = [
        await asSigned("PUT", "/v1/payouts"),
        await asSigned("DELETE", "/v1/float"),
        await asSigned("GET", "/v1/payouts/quote"),
        await ask("POST", "/health")
      ]
      expect(wrong.map((answer) => [answer.status, code(answer), answer.headers["allow"]])).toEqual([
        [405, "method_not_allowed", "POST"],
        [405, "method_not_allowed", "GET, HEAD"],
        [405, "method_not_allowed", "POST"],
        [405, "method_not_allowed", "GET, HEAD"]
      ])
    })
  )

  it(
    "refuses requests of another origin on every path, and never sends an Access-Control header",
    onEdge(async ({ ask, signed: asSigned }) => {
      const foreign = [
        "https://evil.example",
        "null",
        "https://api.gateway.example.evil.example",
        "https://api.gateway.example:8443",
        "file://api.gateway.example"
      ]
      for (const origin of foreign) {
        for (const answer of [
          await ask("GET", "/health", [HOST, ["Origin", origin]]),
          await asSigned("GET", "/v1/float", [["Origin", origin]]),
          await ask("GET", "/nowhere", [HOST, ["Origin", origin]])
        ]) {
          expect([origin, answer.status, code(answer)]).toEqual([origin, 403, "cross_origin_denied"])
          expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([])
        }
      }
      for (const origin of ["https://api.gateway.example", "http://API.gateway.example"])
        expect((await ask("GET", "/health", [HOST, ["Origin", origin]])).status).toBe(200)
      expect((await ask("GET", "/v1/float", [HOST, ["Origin", "https://evil.example"]])).status).toBe(401)
    })
  )

  it(
    "echoes a printable request id, and makes one otherwise",
    onEdge(async ({ ask }) => {
      const id = async (value: string) => (await ask("GET", "/health", [HOST, ["X-Request-Id", value]])).headers["x-request-id"]
      expect(await id("mine-1")).toBe("mine-1")
      expect(await id("a".repeat(128))).toBe("a".repeat(128))
      for (const unusable of ["a".repeat(129), "é", ""]) expect(await id(unusable)).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/)
      expect((await ask("GET", "/v1/x")).headers["x-request-id"]).toMatch(/^.{26}$/)
    })
  )

  it(
    "tells its health to everybody, and the details only to signed requests",
    onEdge(async ({ ask, signed: asSigned }) => {
      expect(parsed(await ask("GET", "/health"))).toEqual({ code: 200, message: "ok", data: { status: "ok", release: "1.0.0" } })
      expect(parsed(await asSigned("GET", "/health/detail")).data).toEqual({
        status: "ok",
        uptime_seconds: 0,
        version: "1.0.0+test",
        release: "1.0.0",
        is_test_environment: false,
        provider_environment: "production",
        providers: { eversend: "not_registered", mtn: "not_registered" }
      })
      expect(parsed(await asSigned("GET", "/v1/float"))).toEqual({ code: 200, message: "ok", data: [] })
      expect(code(await ask("GET", "/healthz"))).toBe("not_found")
      expect((await ask("GET", "/openapi.json")).status).toBe(200)
    })
  )
})

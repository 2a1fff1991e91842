import { Effect, Layer } from "effect"
import { describe, expect, it } from "vitest"
import { ListenFailed } from "../../src/http/Server.ts"
import { onEdge } from "../support/EdgeClient.ts"
import { edge } from "../support/EdgeServer.ts"

const parsed = (answer: { text: string }) => JSON.parse(answer.text)
const code = (answer: { text: string }): string => parsed(answer).error?.code ?? parsed(answer).message
const HOST = ["Host", "api.gateway.example"] as const
const json = ["Content-Type", "application/json"] as const

describe("the listener", () => {
  it(
    "answers bytes that are not HTTP with the envelope, too",
    onEdge(async ({ bytes }) => {
      for (const text of [
        "nonsense\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n",
        `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
        "POST /health HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
      ]) {
        const answer = await bytes(text)
        expect([answer.status, code(answer)]).toEqual([400, "validation_failed"])
        expect(answer.headers["x-request-id"]).toBeDefined()
      }
      expect(code(await bytes("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"))).toBe("method_not_allowed")
      expect((await bytes("GET /health HTTP/1.1\r\nHost: a\r\nExpect: nonsense\r\n\r\n")).status).toBe(200)
      expect((await bytes("GET /health HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")).status).toBe(
        200
      )
      expect((await bytes("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")).status).toBe(401)
    })
  )

  it(
    "refuses a body over 64 KiB before anything else, by its length and by its bytes",
    onEdge(async ({ ask, bytes, signed: asSigned }) => {
      const large = "x".repeat(64 * 1024 + 1)
      const chunk = "x".repeat(0x8000)
      const chunked = `8000\r\n${chunk}\r\n8000\r\n${chunk}\r\n1\r\nx\r\n0\r\n\r\n`
      const answers = [
        await ask("POST", "/v1/payouts", [HOST, ["Content-Type", "text/plain"]], large),
        await asSigned("POST", "/v1/payouts", [json], large),
        await bytes("POST /v1/payouts HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n"),
        await bytes(`POST /v1/payouts HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`)
      ]
      for (const answer of answers) expect([answer.status, parsed(answer).error.details]).toEqual([413, { maximum_bytes: 65536 }])
      expect((await asSigned("POST", "/v1/payouts", [json], "x".repeat(64 * 1024))).status).toBe(400)
    })
  )

  it(
    "answers Expect: 100-continue, and ignores the body of a GET",
    onEdge(async ({ bytes, signed: asSigned }) => {
      const answer = await bytes(
        "POST /webhooks/eversend/secret-1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}"
      )
      expect(answer.status).toBe(100)
      expect((await asSigned("GET", "/v1/float", [["Content-Type", "text/plain"]], "whatever")).status).toBe(200)
    })
  )

  it(
    "passes on a callback as its exact bytes and URL, of any content type, by POST or PUT, up to 256 KiB",
    onEdge(async ({ ask, behind }) => {
      const body = Buffer.from([0, 1, 2, 255])
      const answer = await ask(
        "POST",
        "/webhooks/eversend/secret-1?x=1",
        [HOST, ["X-Sig", "s"], ["Content-Type", "text/xml"]],
        body
      )
      expect([answer.status, parsed(answer).data]).toEqual([200, { status: "stored" }])
      expect(
        behind.callbacks.map(({ body, headers, method, path }) => [
          method,
          path,
          headers["host"],
          headers["x-sig"],
          Buffer.from(body)
        ])
      ).toEqual([["POST", "/webhooks/eversend/secret-1", HOST[1], "s", body]])
      expect((await ask("POST", "/webhooks/eversend/secret-1", [HOST], "x".repeat(256 * 1024))).status).toBe(200)
      expect((await ask("POST", "/webhooks/eversend/secret-1", [HOST], "x".repeat(256 * 1024 + 1))).status).toBe(413)
      const put = await ask("PUT", "/webhooks/eversend/secret-1", [HOST, ["Content-Type", "text/xml"]], body)
      expect([put.status, parsed(put).data]).toEqual([200, { status: "stored" }])
      expect((await ask("GET", "/webhooks/eversend/secret-1")).status).toBe(405)
      expect((await ask("POST", "/webhooks/eversend")).status).toBe(404)
    })
  )

  it(
    "logs one line for each request, without secrets",
    onEdge(async ({ behind, signed: asSigned }) => {
      await asSigned("GET", "/v1/float")
      expect(behind.logs.filter((line) => line.includes('"request"')).length).toBe(1)
      expect(behind.logs.join()).not.toMatch(/ak_|v1=/)
    })
  )
})

describe("the server", () => {
  it(
    "names HOST and PORT when the address is in use",
    onEdge(async ({ port }) => {
      const error = await Effect.runPromise(Effect.flip(Effect.scoped(Layer.build(edge({ port }).layer))))
      expect(error).toBeInstanceOf(ListenFailed)
      expect(error.message).toBe(`cannot listen on 127.0.0.1:${port} (the address is taken); set HOST or PORT to a free address`)
    })
  )
})

import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Deferred, Effect, type Scope } from "effect"
import { listening } from "../support/ListeningServer.ts"

/** One request as it came in. */
export interface Seen {
  readonly line: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
  /** Different for each connection. */
  readonly port: number | undefined
}

export type Behaviour = (response: ServerResponse, seen: Seen) => void

export interface Stub {
  readonly baseUrl: string
  readonly seen: ReadonlyArray<Seen>
  /** Done when the request with this beginning came in. */
  readonly arrived: (line: string) => Effect.Effect<void>
}

export const answer =
  (status: number, body: unknown, contentType = "application/json"): Behaviour =>
  (response) => {
    response.writeHead(status, { "content-type": contentType }).end(typeof body === "string" ? body : JSON.stringify(body))
  }

export const bytes =
  (text: string): Behaviour =>
  (response) =>
    void response.socket?.end(text)

export const reset: Behaviour = (response) => void response.socket?.resetAndDestroy()
export const silence: Behaviour = () => undefined

/** The whole of it is announced, and only a part comes before the reset. */
export const halfAnswer: Behaviour = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": 1000 })
  response.write('{"code":200,"data":{"transaction":', () => response.socket?.resetAndDestroy())
}

const token = answer(200, { status: 200, token: "the-token" })

/** A server of Eversend's paths, by the beginning of the request line; each list is used up to its last, which stays. */
export const stub = (behaviours: Readonly<Record<string, ReadonlyArray<Behaviour>>>): Effect.Effect<Stub, never, Scope.Scope> =>
  Effect.gen(function* () {
    const seen: Array<Seen> = []
    const waiting = new Map<string, Deferred.Deferred<void>>()
    const left = new Map(Object.entries({ "GET /auth/token": [token], ...behaviours }).map(([line, list]) => [line, [...list]]))
    const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      const chunks: Array<Buffer> = []
      request.on("error", () => undefined)
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const line = `${request.method} ${request.url}`
        const one: Seen = {
          line,
          headers: request.headers,
          body: Buffer.concat(chunks).toString("utf8"),
          port: request.socket.remotePort
        }
        seen.push(one)
        const list = [...left].filter(([beginning]) => line.startsWith(beginning)).sort(([a], [b]) => b.length - a.length)[0]?.[1]
        const behaviour = (list !== undefined && list.length > 1 ? list.shift() : list?.[0]) ?? answer(404, {})
        behaviour(response, one)
        for (const [beginning, deferred] of waiting) if (line.startsWith(beginning)) Deferred.doneUnsafe(deferred, Effect.void)
      })
    })
    const port = yield* listening(server)
    const arrived = (line: string) =>
      Effect.suspend(() => {
        if (seen.some((one) => one.line.startsWith(line))) return Effect.void
        const deferred = waiting.get(line) ?? Deferred.makeUnsafe<void>()
        waiting.set(line, deferred)
        return Deferred.await(deferred)
      })
    return { baseUrl: `http://127.0.0.1:${port}`, seen, arrived }
  })

/** A transaction as Eversend writes it. */
export const transaction = (transactionRef: string, change: object = {}) => ({
  transactionId: "BP1",
  transactionRef,
  type: "payout",
  currency: "UGX",
  amount: "20000",
  fees: "1000",
  status: "pending",
  ...change
})

export const payoutAnswer = (transactionRef: string, change: object = {}) => ({
  code: 200,
  data: { transaction: transaction(transactionRef, change) },
  success: true
})

export const listAnswer = (...transactions: ReadonlyArray<object>) => ({ code: 200, data: { transactions }, success: true })

export const chargeAnswer = (transactionRef: string, change: object = {}) => ({
  code: 200,
  data: { ...transaction(transactionRef, { transactionId: "BE1", type: "collection", fees: undefined }), ...change },
  success: true
})

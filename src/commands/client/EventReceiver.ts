import type { IncomingHttpHeaders } from "node:http"
import { Effect, Queue } from "effect"
import { CommandRefusal } from "../CommandRefusal.ts"

// An import would read all that node:http exports, and with it a client of 16 MB that nobody uses.
const { createServer } = process.getBuiltinModule("node:http")

/** The gateway's own events are far smaller. */
const LARGEST_BYTES = 1_048_576
/** As long as the gateway waits for an answer. */
const FORWARD_MS = 15_000
/** The gateway keeps so much of an answer. */
const EXCERPT = 4096

/** One delivery as it came, to the byte. */
export interface Arrived {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly respond: (status: number, text: string) => void
}

/** A receiver on loopback, for as long as the scope lives. Every delivery is in the queue and waits for its response. */
export const openEventReceiver = Effect.fn("openEventReceiver")(function* (port: number) {
  const arrived = yield* Queue.unbounded<Arrived>()
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    let bytes = 0
    for await (const chunk of request) {
      bytes += chunk.length
      if (bytes > LARGEST_BYTES) return void response.writeHead(413).end()
      chunks.push(chunk)
    }
    const respond = (status: number, text: string) => void response.writeHead(status).end(text.slice(0, EXCERPT))
    Queue.offerUnsafe(arrived, { headers: request.headers, body: Buffer.concat(chunks), respond })
  })
  yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () =>
        new Promise<void>((listening, failed) => server.once("error", failed).listen(port, "127.0.0.1", () => listening())),
      catch: () => new CommandRefusal({ message: `port ${port} is taken: choose another --port` })
    }),
    () =>
      Effect.promise(() => {
        server.closeAllConnections()
        return new Promise<void>((closed) => server.close(() => closed()))
      })
  )
  const address = server.address()
  return { arrived, port: typeof address === "object" && address !== null ? address.port : port }
})

/** Belong to the connection, or are made anew for the next one. */
const ownHeaders = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "accept-encoding",
  "keep-alive",
  "expect"
])

/** Sends the very bytes and the gateway's own headers on. No answer is a 502, as of a proxy, so that the gateway tries again. */
export const forward = (
  url: string,
  { body, headers }: Arrived
): Effect.Effect<{ readonly status: number; readonly text: string }> => {
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === "string" && !ownHeaders.has(name) ? [[name, value] as const] : []
  )
  return Effect.tryPromise(async (signal) => {
    const response = await fetch(url, {
      method: "POST",
      headers: Object.fromEntries(sent),
      body: new Uint8Array(body),
      redirect: "manual",
      signal
    })
    return { status: response.status, text: await response.text() }
  }).pipe(
    Effect.timeout(FORWARD_MS),
    Effect.catch(() => Effect.succeed({ status: 502, text: `no answer from ${url}` }))
  )
}

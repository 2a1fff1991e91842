import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { Clock, Effect, Option, Schema } from "effect"
import { CommandRefusal } from "./CommandRefusal.ts"
import { until } from "./DataFolder.ts"

// An import would read all that node:http exports, and with it a client of 16 MB that nobody uses.
const { createServer } = process.getBuiltinModule("node:http")

/** One event as a tenant's own server gets it. */
interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const Event = Schema.fromJsonString(
  Schema.Struct({ type: Schema.String, data: Schema.Struct({ reference: Schema.String, status: Schema.String }) })
)
const decode = Schema.decodeUnknownOption(Event)

const WAIT_MS = 45_000
/** How old a signed delivery may be, as the standard's own libraries have it. */
const TOLERANCE_SECONDS = 300

/** A tenant's server on a free port of loopback: takes every event, and checks signatures by Standard Webhooks 1.0 alone. */
export const openDemoReceiver = Effect.fn("openDemoReceiver")(function* () {
  const received: Array<Received> = []
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString("utf8") })
      response.writeHead(204).end()
    })
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))),
    () =>
      Effect.promise(() => {
        server.closeAllConnections()
        return new Promise<void>((closed) => server.close(() => closed()))
      })
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0

  /** Waits for the event about one transaction, and verifies it. */
  const event = Effect.fn("Receiver.event")(function* (type: string, reference: string, secret: string) {
    const found = () =>
      received.find(({ body }) =>
        Option.exists(decode(body), ({ data, type: own }) => own === type && data.reference === reference)
      )
    yield* until(
      Effect.sync(() => found() !== undefined),
      WAIT_MS
    )
    const delivery = found()
    if (delivery === undefined)
      return yield* new CommandRefusal({ message: `no webhook ${type} came within ${WAIT_MS / 1000} s` })
    if (!isSigned(delivery, secret, (yield* Clock.currentTimeMillis) / 1000))
      return yield* new CommandRefusal({ message: `the signature of ${type} does not verify` })
    return delivery.body
  })

  return { url: `http://127.0.0.1:${port}/events`, event }
})

/** Standard Webhooks 1.0: HMAC-SHA256 of "id.timestamp.body" under the secret's bytes, any of the listed signatures, a fresh timestamp. */
const isSigned = ({ body, headers }: Received, secret: string, nowSeconds: number): boolean => {
  const id = headers["webhook-id"]
  const timestamp = headers["webhook-timestamp"]
  const signatures = headers["webhook-signature"]
  if (typeof id !== "string" || typeof timestamp !== "string" || typeof signatures !== "string") return false
  if (Math.abs(nowSeconds - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64")
  const wanted = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest()
  return signatures.split(" ").some((signature) => {
    const [version, text = ""] = signature.split(",", 2)
    const given = Buffer.from(text, "base64")
    return version === "v1" && given.length === wanted.length && timingSafeEqual(given, wanted)
  })
}

import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { Clock, Effect, Option, Schema } from "effect"
import { Command } from "effect/cli"
import * as App from "../App.ts"
import { RandomSource } from "../services/ports/RandomSource.ts"
import { help, isGiven } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { until } from "./DataFolder.ts"
import { playEveryProvider } from "./DemoProviders.ts"
import { openStack } from "./DemoStack.ts"
import { onlyForDevelopment } from "./Installation.ts"
import { AsJson, printLines, printResult } from "./Output.ts"
import { KeyFile, signingHeaders } from "./signing/SignedHeaders.ts"

/** Allows for a busy machine: on an idle one it takes twenty seconds, and a minute more with every provider. */
const WITHIN = "3 minutes"
const ALL_WITHIN = "10 minutes"
const PAYER = { type: "momo", msisdn: "256772123456", network: "MTN", country: "UG" }

const Secret = Schema.fromJsonString(Schema.Struct({ secret: Schema.String }))
const Record = Schema.Struct({ reference: Schema.String, status: Schema.String, fees_minor: Schema.NullOr(Schema.Number) })
const Quote = Schema.Struct({
  total_amount_minor: Schema.Number,
  destination_amount_minor: Schema.Number,
  fees_minor: Schema.Number
})
const Position = Schema.Struct({
  currency: Schema.String,
  available_minor: Schema.Number,
  reserved_minor: Schema.Number,
  collected_minor: Schema.Number,
  paid_out_minor: Schema.Number,
  provider_fees_minor: Schema.Number
})
type Position = typeof Position.Type
const decodeData = <A>(data: Schema.ConstraintDecoder<A>) =>
  Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ data })))

export const demo = Command.make(
  "demo",
  {
    all: isGiven("all", "also a charge and a payout at each provider that is simulated")
  },
  Effect.fn(
    function* ({ all }) {
      const within = all ? ALL_WITHIN : WITHIN
      const steps: Array<{ readonly step: string; readonly result: string }> = []
      const asJson = yield* AsJson
      const step: ReportStep = Effect.fnUntraced(function* (name, result) {
        steps.push({ step: name, result })
        if (!asJson) yield* printLines(`✓ ${name}`, ...result.split("\n").map((line) => `    ${line}`))
      })
      yield* Effect.scoped(play(step, all)).pipe(
        Effect.timeoutOrElse({
          duration: within,
          orElse: () => new CommandRefusal(`the demo did not end within ${within}`)
        }),
        Effect.catchTag(
          "SchemaError",
          (error) => new CommandRefusal(`an answer has another form than expected: ${error.message}`)
        ),
        Effect.mapError(({ message }) => new CommandRefusal(`✗ after ${steps.length} steps that held: ${message}`))
      )
      if (asJson) return yield* printResult({ ok: true, steps })
      yield* printLines(`All ${steps.length} steps held.`)
    },
    Effect.provide([App.randomSource, App.logs]),
    onlyForDevelopment("demo")
  )
).pipe(
  help(
    "Play the main job end to end on free ports, from the first tenant to the last ledger check. For development: it needs no setting, and removes what it made",
    ["gateway demo", "Show in under a minute that everything works"],
    ["gateway demo --all", "Show the same of every provider"]
  )
)

type ReportStep = (name: string, result: string) => Effect.Effect<void>

const expect = (held: boolean, message: string) => (held ? Effect.void : Effect.fail(new CommandRefusal(message)))

const play = Effect.fnUntraced(function* (step: ReportStep, all: boolean) {
  const stack = yield* openStack()
  const receiver = yield* openDemoReceiver()
  yield* step("PostgreSQL, the provider simulator and the gateway run as three processes", stack.url)

  yield* stack.command("tenant", "create", "shop")
  const key = yield* stack.command("key", "issue", "shop", "--mode", "live").pipe(Effect.flatMap(decodeKey))
  const { secret } = yield* stack
    .command("webhook", "endpoint", "shop", "--mode", "live", "--url", receiver.url)
    .pipe(Effect.flatMap(Schema.decodeUnknownEffect(Secret)))
  yield* step("A tenant is made, with a key and an address for its events", `${key.app_id}, ${key.key_id}, ${receiver.url}`)

  const credit = ["float", "credit", "shop", "--mode", "live", "--currency", "UGX", "--amount-minor", "20000"]
  const credited = [...credit, "--external-id", "demo-1", "--note", "opening float"]
  const once = yield* stack.command(...credited)
  yield* expect(once === (yield* stack.command(...credited)), "the same credit a second time did not answer the first result")
  yield* step("Its float is credited once, although the command ran twice", once.trim())

  const client = tenantOf(stack.url, key)
  const shop = { client, receiver, secret, step }
  yield* collect(shop)
  const reference = yield* payOut(shop)

  const executions = yield* fetchText(`${stack.simulatorUrl}/__simulator/executions?reference=${reference}`)
  const rows = yield* decodeRows(executions)
  yield* expect(rows.length === 1, `the provider executed the payout ${rows.length} times`)
  yield* step("The provider's own account has it exactly once", executions)

  if (all) {
    const { command, simulatorUrl, url } = stack
    const random = yield* RandomSource
    yield* playEveryProvider({
      command,
      simulatorUrl,
      step,
      fetchText,
      clientOf: (own) => withRandomness(tenantOf(url, own), random)
    })
  }

  yield* step("The ledger verifies", (yield* stack.command("ledger", "verify")).trim())
  const position = yield* floatOf(client)
  yield* expect(
    JSON.stringify(position) === JSON.stringify(finalPosition),
    `the float is ${JSON.stringify(position)}, not ${JSON.stringify(finalPosition)}`
  )
  yield* step("The float is right to the minor unit: 20,000 + 50,000 - 750 - 10,000 - 1,000 = 58,250", JSON.stringify(position))

  const code = yield* stack.stopGateway
  yield* expect(code === 0, `the gateway ended with ${code}`)
  yield* step("Everything stops when it is asked to", "exit code 0")
})

const finalPosition: Position = {
  currency: "UGX",
  available_minor: 58_250,
  reserved_minor: 0,
  collected_minor: 50_000,
  paid_out_minor: 10_000,
  provider_fees_minor: 1_750
}

interface Shop {
  readonly client: ReturnType<typeof tenantOf>
  readonly receiver: Effect.Success<ReturnType<typeof openDemoReceiver>>
  readonly secret: string
  readonly step: ReportStep
}

const collect = Effect.fnUntraced(function* ({ client, receiver, secret, step }: Shop) {
  const body = { amount_minor: 50_000, currency: "UGX", country: "UG", method: "momo", source: PAYER }
  const made = yield* client("POST", "/v1/collections", body, "demo-collection").pipe(Effect.flatMap(decodeData(Record)))
  yield* expect(made.data.status === "pending", `the collection is ${made.data.status}`)
  yield* step("A payer is charged UGX 50,000", `${made.data.reference} is pending`)
  const event = yield* receiver.event("collection.successful", made.data.reference, secret)
  yield* step("The provider's callback settles it, and the tenant's webhook verifies", event)
  const { available_minor } = yield* floatOf(client)
  yield* expect(available_minor === 69_250, `${available_minor} is available, not 20,000 + 50,000 - 750`)
  yield* step("The float rises by the net amount", `UGX ${available_minor} is available`)
})

const payOut = Effect.fnUntraced(function* ({ client, receiver, secret, step }: Shop) {
  const order = { amount_minor: 10_000, currency: "UGX", country: "UG", method: "momo", destination: PAYER }
  const quote = yield* client("POST", "/v1/payouts/quote", order).pipe(Effect.flatMap(decodeData(Quote)))
  yield* expect(quote.data.total_amount_minor === 11_000, `the quoted total is ${quote.data.total_amount_minor}`)
  yield* step("A payout of UGX 10,000 is quoted", JSON.stringify(quote.data))

  const body = { ...order, metadata: { invoice: "INV-7" } }
  const text = yield* client("POST", "/v1/payouts", body, "demo-payout")
  const made = yield* decodeData(Record)(text)
  const { reference } = made.data
  yield* expect(made.data.status === "pending" && made.data.fees_minor === 1_000, `the payout is ${made.data.status}`)
  yield* step("It is sent, with the quoted fee on top", `${reference} is pending`)
  const event = yield* receiver.event("payout.successful", reference, secret)
  const now = yield* client("GET", `/v1/payouts/${reference}`).pipe(Effect.flatMap(decodeData(Record)))
  yield* expect(now.data.status === "successful", `the payout is ${now.data.status}`)
  yield* step("It settles, and the tenant's webhook verifies", event)

  const again = yield* client("POST", "/v1/payouts", body, "demo-payout")
  yield* expect(again === text, "the same request again did not answer the same bytes")
  yield* step("The same request again answers the same bytes", `${Buffer.byteLength(again)} bytes`)
  return reference
})

/** A tenant's own client: it signs each request and fails on any answer that is not a success. */
const tenantOf = (url: string, key: KeyFile) =>
  Effect.fnUntraced(function* (method: "GET" | "POST", path: string, body?: object, idempotencyKey?: string) {
    const bytes = Buffer.from(body === undefined ? "" : JSON.stringify(body))
    const headers = yield* signingHeaders(key, { method, url: url + path, body: bytes })
    return yield* fetchText(url + path, {
      method,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey })
      },
      ...(body === undefined ? {} : { body: bytes })
    })
  })

const withRandomness =
  (client: ReturnType<typeof tenantOf>, random: RandomSource["Service"]) =>
  (...request: Parameters<ReturnType<typeof tenantOf>>) =>
    Effect.provideService(client(...request), RandomSource, random)

const fetchText = (url: string, request: RequestInit = {}) =>
  Effect.gen(function* () {
    const unreachable = (cause: unknown) => new CommandRefusal(`${url} does not answer: ${String(cause)}`)
    const response = yield* Effect.tryPromise({ try: (signal) => fetch(url, { ...request, signal }), catch: unreachable })
    const text = yield* Effect.tryPromise({ try: () => response.text(), catch: unreachable })
    if (!response.ok) return yield* new CommandRefusal(`${request.method ?? "GET"} ${url} answers ${response.status}: ${text}`)
    return text
  })

const floatOf = Effect.fnUntraced(function* (client: ReturnType<typeof tenantOf>) {
  const { data } = yield* client("GET", "/v1/float").pipe(Effect.flatMap(decodeData(Schema.Array(Position))))
  const [position] = data
  return position ?? (yield* new CommandRefusal("the tenant has no float"))
})

const decodeKey = Schema.decodeUnknownEffect(Schema.fromJsonString(KeyFile))
const decodeRows = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(Schema.Unknown)))

// An import would load everything that node:http exports, including an unused client of 16 MB.
const { createServer } = process.getBuiltinModule("node:http")

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const Event = Schema.fromJsonString(
  Schema.Struct({ type: Schema.String, data: Schema.Struct({ reference: Schema.String, status: Schema.String }) })
)
const decode = Schema.decodeUnknownOption(Event)

const WAIT_MS = 45_000
/** How old a signed delivery may be, as in the standard's own libraries. */
const TOLERANCE_SECONDS = 300

/** A tenant's server on a free loopback port: it accepts every event, and checks signatures by Standard Webhooks 1.0 alone. */
const openDemoReceiver = Effect.fn("openDemoReceiver")(function* () {
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
    if (delivery === undefined) return yield* new CommandRefusal(`no webhook ${type} came within ${WAIT_MS / 1000} s`)
    if (!isSigned(delivery, secret, (yield* Clock.currentTimeMillis) / 1000))
      return yield* new CommandRefusal(`the signature of ${type} does not verify`)
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

import type { IncomingHttpHeaders } from "node:http"
import { Clock, Deferred, Effect, Option, Queue, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { randomSource } from "../App.ts"
import { EventType } from "../domain/Event.ts"
import { json } from "../domain/Json.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { exactJson } from "./client/ExactJson.ts"
import { isLoopback, type Profile, Profiles, profileFlag } from "./client/Profile.ts"
import { callGateway } from "./client/TenantClient.ts"
import { knownOf, statusOf } from "./client/TransactionOutput.ts"
import { AsJson, type Colored, printColored, printErrors } from "./Output.ts"

const optional = <A>(flag: Flag.Flag<A>, description: string) => flag.pipe(Flag.withDescription(description), Flag.optional)
const WebAddress = Schema.String.check(
  Schema.makeFilter((url: string) => /^https?:\/\//.test(url) && URL.canParse(url), { expected: "an http or https address" })
)

export const listen = Command.make(
  "listen",
  {
    forward: optional(
      Flag.String("forward").pipe(Flag.withSchema(WebAddress)),
      "your receiver: it gets the very bytes with the gateway's own headers and signature, and the gateway gets its status"
    ),
    publicUrl: optional(
      Flag.String("public-url").pipe(Flag.withSchema(WebAddress)),
      "a public https address that leads to this machine's --port, such as a tunnel's; needed with --forward where the gateway is on another machine"
    ),
    port: Flag.Int("port").pipe(
      Flag.withDefault(0),
      Flag.withDescription("where to listen on 127.0.0.1; any free one if left out")
    ),
    takeOver: Flag.Boolean("take-over").pipe(
      Flag.withDefault(false),
      Flag.withDescription("take the events from the endpoint that is set, while this runs")
    ),
    count: optional(Flag.Int("count"), "end after so many events"),
    profile: profileFlag
  },
  Effect.fn(
    function* ({ count, forward, port, profile, publicUrl, takeOver }) {
      const login = yield* Profiles.load(profile)
      const done = yield* Deferred.make<void>()
      let shown = 0
      const seen = Effect.suspend(() =>
        ++shown === Option.getOrElse(count, () => 0) ? Deferred.succeed(done, undefined) : Effect.void
      )
      if (Option.isSome(publicUrl) || isLoopback(new URL(login.url).hostname)) {
        const { arrived, port: taken } = yield* openEventReceiver(port)
        const url = Option.getOrElse(publicUrl, () => `http://127.0.0.1:${taken}/`)
        const secret = yield* borrowEndpoint(login, url, takeOver)
        yield* printErrors(
          `ready: events come to ${url}, and the endpoint is put back at the end (Ctrl-C)`,
          Option.match(secret, {
            onNone: () => "they are signed with your endpoint's own secret",
            onSome: (text) => `they are signed with ${text}`
          })
        )
        const deliveries = Effect.flatMap(Queue.take(arrived), (one) =>
          Effect.forkScoped(Effect.andThen(handle(one, forward), seen))
        )
        return yield* Effect.raceFirst(Effect.forever(deliveries), Deferred.await(done))
      }
      if (Option.isSome(forward))
        return yield* new CommandRefusal({
          message: `${login.url} cannot reach this machine, and only what it delivers itself has its signature: give --public-url, an https address that leads to this machine's --port`
        })
      yield* Effect.raceFirst(watch(login, seen), Deferred.await(done))
    },
    Effect.scoped,
    Effect.provide(randomSource)
  )
).pipe(
  Command.withDescription(
    "Show events as they come, a line each (with --json a JSON document a line), and forward them to your receiver. A gateway on this machine that allows loopback receivers, as that of `npm start` does, delivers here directly: while this runs, the tenant's webhook endpoint is this command, and then it is what it was before. A gateway elsewhere needs --public-url for that; without it, and without --forward, changes of your newest hundred transactions are shown, which takes nothing but the API"
  ),
  Command.withExamples([
    {
      command: "gateway listen --forward http://127.0.0.1:3000/webhooks",
      description: "Have the events of a gateway of `npm start` at your receiver"
    },
    {
      command: "gateway listen --port 4000 --public-url https://tunnel.example --forward http://127.0.0.1:3000/webhooks",
      description: "The same with a gateway elsewhere, through a tunnel to port 4000"
    }
  ])
)

const Event = Schema.Struct({
  id: Schema.String,
  type: Schema.String,
  timestamp: Schema.String,
  data: Schema.Struct({ reference: Schema.optionalKey(Schema.String), status: Schema.optionalKey(Schema.String) })
})
const decodeEvent = Schema.decodeUnknownOption(Event)
const unreadable: typeof Event.Type = { id: "", type: "unknown", timestamp: "", data: {} }

const FIRST_REDIRECT = 300

/** Forwards one delivery, answers it with what the receiver said, and shows it. */
const handle = Effect.fnUntraced(function* (arrived: Arrived, to: Option.Option<string>) {
  const startedAt = yield* Clock.currentTimeMillis
  const answer = Option.isSome(to) ? yield* forward(to.value, arrived) : { status: 204, text: "" }
  const duration_ms = (yield* Clock.currentTimeMillis) - startedAt
  arrived.respond(answer.status, answer.text)
  const body = Option.getOrNull(exactJson(arrived.body.toString("utf8")))
  const forwarded = Option.isSome(to) ? { status: answer.status, duration_ms } : null
  if (yield* AsJson) return yield* printColored([json({ event: body, forwarded })])
  const { data, timestamp, type } = Option.getOrElse(decodeEvent(body), () => unreadable)
  const status: ReadonlyArray<Colored | string> = data.status === undefined ? [] : [" ", statusOf(data.status)]
  const sent: ReadonlyArray<Colored | string> =
    forwarded === null
      ? []
      : [
          " forwarded: ",
          { text: String(forwarded.status), as: forwarded.status < FIRST_REDIRECT ? "good" : "bad" },
          ` in ${duration_ms} ms`
        ]
  yield* printColored([{ text: timestamp, as: "quiet" }, `  ${type.padEnd(26)}  ${data.reference ?? ""}`, ...status, ...sent])
})

const POLL = "1 second"
const NEWEST = 100
const Page = Schema.Struct({ items: Schema.Array(Schema.Unknown) })
const decodePage = Schema.decodeUnknownEffect(Page)

/** Asks for the newest transactions again and again, and shows those that are new or changed since. An answer that is late is waited for. */
const watch = Effect.fnUntraced(function* (login: Profile, seen: Effect.Effect<unknown>) {
  const versions = new Map<string, number>()
  let isFirst = true
  const look = Effect.gen(function* () {
    const page = yield* Effect.flatMap(
      callGateway(login, { method: "GET", target: `/v1/transactions?limit=${NEWEST}` }),
      decodePage
    )
    for (const item of page.items.toReversed()) {
      const { created_at, kind, reference, status, version } = yield* knownOf(item)
      const isNews = (versions.get(reference) ?? 0) < version
      versions.set(reference, version)
      if (isFirst || !isNews) continue
      if (yield* AsJson) yield* printColored([json({ transaction: item })])
      else yield* printColored([{ text: created_at, as: "quiet" }, `  ${kind.padEnd(26)}  ${reference} `, statusOf(status)])
      yield* seen
    }
    if (isFirst) yield* printErrors(`ready: ${login.url} is asked every ${POLL} what changed (Ctrl-C ends it)`)
    isFirst = false
  })
  for (;;) {
    yield* look.pipe(Effect.catchTag("CommandRefusal", ({ message }) => printErrors(message)))
    yield* Effect.sleep(POLL)
  }
})

const ENDPOINT = "/v1/webhooks/endpoint"

const Endpoint = Schema.Struct({
  url: Schema.String,
  events: Schema.Array(Schema.String),
  enabled: Schema.Boolean,
  secret: Schema.optionalKey(Schema.String)
})
type Endpoint = typeof Endpoint.Type
const decodeEndpoint = Schema.decodeUnknownEffect(Endpoint)

const readEndpoint = (view: unknown) =>
  Effect.mapError(decodeEndpoint(view), () => new CommandRefusal({ message: "the gateway's answer is no webhook endpoint" }))

/** The tenant's endpoint as it is; none where there is none. */
const currentEndpoint = (profile: Profile) =>
  callGateway(profile, { method: "GET", target: ENDPOINT }).pipe(
    Effect.flatMap(readEndpoint),
    Effect.asSome,
    Effect.catchTag("ApiRefusal", (refusal) => (refusal.status === 404 ? Effect.succeedNone : Effect.fail(refusal)))
  )

const put = (profile: Profile, { enabled, events, url }: Endpoint) =>
  Effect.flatMap(callGateway(profile, { method: "PUT", target: ENDPOINT, body: json({ url, events, enabled }) }), readEndpoint)

/**
 * Makes `url` the tenant's endpoint, for every kind of event, while the scope lives; then puts back what was there. Refuses to take events
 * away from a receiver that is not on this machine, unless a flag allows it. Answers the secret where the endpoint is new.
 */
const borrowEndpoint = Effect.fn("borrowEndpoint")(function* (profile: Profile, url: string, takesOver: boolean) {
  const before = yield* currentEndpoint(profile)
  if (Option.isSome(before) && before.value.enabled && !takesOver && !isLoopback(new URL(before.value.url).hostname))
    return yield* new CommandRefusal({
      message: `events go to ${before.value.url}: --take-over has them here while this runs, and puts the endpoint back afterwards`
    })
  const giveBack = Option.isSome(before)
    ? put(profile, before.value)
    : callGateway(profile, { method: "DELETE", target: ENDPOINT })
  const wish = { url, events: EventType.literals, enabled: true }
  const set = yield* Effect.acquireRelease(put(profile, wish), () =>
    Effect.asVoid(giveBack).pipe(Effect.catch(({ message }) => printErrors(`the endpoint is not as it was before: ${message}`)))
  ).pipe(Effect.catchTag("ApiRefusal", (refusal) => notTaken(url, refusal.message)))
  return Option.fromUndefinedOr(set.secret)
})

const notTaken = (url: string, message: string) =>
  Effect.fail(
    new CommandRefusal({
      message: `the gateway does not deliver to ${url}: ${message} A gateway of npm start does, and another one with WEBHOOK_ALLOW_LOOPBACK=true; everywhere else give --public-url, an https address that leads here`
    })
  )

// An import would read all that node:http exports, and with it an unused client of 16 MB.
const { createServer } = process.getBuiltinModule("node:http")

/** The gateway's own events are far smaller. */
const LARGEST_BYTES = 1_048_576
/** As long as the gateway waits for an answer. */
const FORWARD_MS = 15_000
/** The gateway keeps so much of an answer. */
const EXCERPT = 4096

/** One delivery as it came, to the byte. */
interface Arrived {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly respond: (status: number, text: string) => void
}

/** A receiver on loopback, for as long as the scope lives. Every delivery is in the queue and waits for its response. */
const openEventReceiver = Effect.fn("openEventReceiver")(function* (port: number) {
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
const forward = (url: string, { body, headers }: Arrived): Effect.Effect<{ readonly status: number; readonly text: string }> => {
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

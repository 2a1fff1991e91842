import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http"
import { setTimeout as pause } from "node:timers/promises"
import type { Schema } from "../../typescript/src/Gateway.ts"
import { parse } from "../../typescript/src/Json.ts"
import { command, text, toggle } from "./CommandLine.ts"
import { Refusal } from "./Refusal.ts"
import { type Colored, type Screen, statusOf } from "./Screen.ts"
import { isLoopback, openSession, profileOption, type Session } from "./Session.ts"

const ADDRESS = /^https?:\/\/[^/]/

export const listen = command({
  name: "listen",
  description:
    "Show events as they come, a line each (with --json a JSON document a line), and forward them to your receiver. A gateway on this machine that allows loopback receivers, as that of `npm start` does, delivers here directly: while this runs, the tenant's webhook endpoint is this command, and then it is what it was before. A gateway elsewhere needs --public-url for that; without it, and without --forward, changes of your newest hundred transactions are shown, which takes nothing but the API",
  options: {
    forward: text(
      "your receiver: it gets the very bytes with the gateway's own headers and signature, and the gateway gets its status",
      ADDRESS
    ),
    "public-url": text(
      "a public https address that leads to this machine's --port, such as a tunnel's; needed with --forward where the gateway is on another machine",
      ADDRESS
    ),
    port: text("where to listen on 127.0.0.1; any free one if left out", /^\d{1,5}$/),
    "take-over": toggle("take the events from the endpoint that is set, while this runs"),
    count: text("end after so many events", /^[1-9]\d*$/),
    profile: profileOption
  },
  examples: [
    "gateway listen --forward http://127.0.0.1:3000/webhooks",
    "gateway listen --port 4000 --public-url https://tunnel.example --forward http://127.0.0.1:3000/webhooks"
  ],
  run: async ({ count, forward, port = "0", profile, "public-url": publicUrl, "take-over": takesOver }, screen) => {
    const session = await openSession(screen, profile)
    const isReached = publicUrl !== undefined || isLoopback(session.profile.url)
    if (!isReached && forward !== undefined)
      throw new Refusal(
        `${session.profile.url} cannot reach this machine, and only what it delivers itself has its signature: give --public-url, an https address that leads to this machine's --port`
      )
    const enough = new AbortController()
    let shown = 0
    const seen = (): void => {
      if (++shown === Number(count)) enough.abort()
    }
    const watched = { screen, session, seen, end: AbortSignal.any([enough.signal, screen.terminal.signal]) }
    await (isReached ? receive(watched, { forward, port: Number(port), publicUrl, takesOver }) : watch(watched))
    screen.terminal.signal.throwIfAborted()
  }
})

interface Watched {
  readonly screen: Screen
  readonly session: Session
  /** Called for each event that was shown. */
  readonly seen: () => void
  readonly end: AbortSignal
}

interface Wish {
  readonly forward: string | undefined
  readonly port: number
  readonly publicUrl: string | undefined
  readonly takesOver: boolean
}

/** The gateway keeps so much of an answer. */
const EXCERPT = 4096

/** Is the tenant's endpoint until the end, then puts back what was there. */
const receive = async ({ end, screen, seen, session }: Watched, { forward, port, publicUrl, takesOver }: Wish) => {
  const server = createServer(async (request, response) => {
    const body = await bytesOf(request).catch(() => undefined)
    if (body === undefined) return void response.writeHead(413).end()
    const startedAt = Date.now()
    const answer = forward === undefined ? { status: 204, text: "" } : await sendOn(forward, request.headers, body)
    const forwarded = forward === undefined ? null : { status: answer.status, duration_ms: Date.now() - startedAt }
    response.writeHead(answer.status).end(answer.text.slice(0, EXCERPT), () => {
      showEvent(screen, body, forwarded)
      seen()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", () => reject(new Refusal(`port ${port} is taken: choose another --port`)))
    server.listen(port, "127.0.0.1", resolve)
  })
  try {
    const address = server.address()
    const taken = typeof address === "object" && address !== null ? address.port : port
    const url = publicUrl ?? `http://127.0.0.1:${taken}/`
    const { giveBack, secret } = await borrowEndpoint(session, { url, takesOver })
    try {
      screen.note(`ready: events come to ${url}, and the endpoint is put back at the end (Ctrl-C)`)
      screen.note(secret === undefined ? "they are signed with your endpoint's own secret" : `they are signed with ${secret}`)
      await pause(LONGEST_MS, undefined, { signal: end }).catch(() => undefined)
    } finally {
      await giveBack()
    }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

/** The gateway's own events are far smaller. */
const LARGEST_BYTES = 1_048_576
/** A timer's. */
const LONGEST_MS = 2 ** 31 - 1

const bytesOf = async (request: IncomingMessage): Promise<Buffer<ArrayBuffer>> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > LARGEST_BYTES) throw new RangeError("too large")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const FIRST_REDIRECT = 300

interface Forwarded {
  readonly status: number
  readonly duration_ms: number
}

/** Shows an event, whatever its body is: nobody has checked its signature here. */
const showEvent = (screen: Screen, body: Buffer, forwarded: Forwarded | null): void => {
  const event = eventIn(body.toString("utf8"))
  if (screen.asJson) return screen.json({ event: event ?? null, forwarded })
  const { data, timestamp = "", type = "unknown" } = event ?? {}
  const status = data?.status === undefined ? [] : [" ", statusOf(String(data.status))]
  const sent: ReadonlyArray<Colored | string> =
    forwarded === null
      ? []
      : [
          " forwarded: ",
          { text: String(forwarded.status), as: forwarded.status < FIRST_REDIRECT ? "good" : "bad" },
          ` in ${forwarded.duration_ms} ms`
        ]
  const what = `  ${String(type).padEnd(26)}  ${String(data?.reference ?? "")}`
  screen.line({ text: String(timestamp), as: "quiet" }, what, ...status, ...sent)
}

interface Unchecked {
  readonly type?: unknown
  readonly timestamp?: unknown
  readonly data?: { readonly reference?: unknown; readonly status?: unknown } | null
}

const eventIn = (text: string): Unchecked | undefined => {
  try {
    const event = parse(text)
    return typeof event === "object" && event !== null ? event : undefined
  } catch {
    return undefined
  }
}

const everyEvent: ReadonlyArray<Schema.EventType> = [
  "collection.requires_action",
  "collection.pending",
  "collection.successful",
  "collection.failed",
  "collection.expired",
  "collection.reversed",
  "collection.corrected",
  "collection.updated",
  "payout.pending",
  "payout.successful",
  "payout.failed",
  "payout.returned",
  "payout.corrected",
  "payout.updated",
  "fx.successful",
  "fx.failed",
  "fx.updated",
  "float.credited",
  "float.debited",
  "float.low",
  "webhook.test"
]

/**
 * Makes `url` the tenant's endpoint, for every kind of event. Refuses to take events away from a receiver that is not on this machine, unless
 * a flag allows it. The secret is known where the endpoint is new.
 */
const borrowEndpoint = async (session: Session, { takesOver, url }: { readonly url: string; readonly takesOver: boolean }) => {
  const before = await session
    .call((gateway, options) => gateway.webhooks.endpoint(options))
    .catch((error: unknown) => {
      if (error instanceof Refusal && error.code === "not_found") return undefined
      throw error
    })
  if (before?.enabled === true && !takesOver && !isLoopback(before.url))
    throw new Refusal(
      `events go to ${before.url}: --take-over has them here while this runs, and puts the endpoint back afterwards`
    )
  const giveBack = (): Promise<void> =>
    session
      .call<unknown>(
        (gateway, options) =>
          before === undefined
            ? gateway.webhooks.removeEndpoint(options)
            : gateway.webhooks.setEndpoint({ url: before.url, events: before.events, enabled: before.enabled }, options),
        // Also where the command was stopped.
        { signal: new AbortController().signal, patience: "long" }
      )
      .then(
        () => undefined,
        (error: unknown) => {
          if (!(error instanceof Refusal)) throw error
          if (before === undefined && error.code === "not_found") return
          const wanted = before === undefined ? "to be removed" : `at ${before.url}`
          throw new Refusal(`the endpoint is not as it was before, ${wanted}: ${error.message}`)
        }
      )
  const set = await session
    .call((gateway, options) => gateway.webhooks.setEndpoint({ url, events: everyEvent, enabled: true }, options))
    .catch(async (error: unknown) => {
      if (error instanceof Refusal && !mayBeDone.has(error.code))
        throw new Refusal(
          `the gateway does not deliver to ${url}: ${error.message} A gateway of npm start does, and another one with WEBHOOK_ALLOW_LOOPBACK=true; everywhere else give --public-url, an https address that leads here`
        )
      await giveBack()
      throw error
    })
  return { secret: set.secret, giveBack }
}

/** After these the endpoint may have been taken. */
const mayBeDone: ReadonlySet<string> = new Set(["no_answer", "internal_error"])

const POLL_MS = 1000
const NEWEST = 100

/** Asks for the newest transactions again and again, and shows those that are new or changed since. An answer that is late is waited for. */
const watch = async ({ end, screen, seen, session }: Watched): Promise<void> => {
  const versions = new Map<string, number>()
  let isFirst = true
  const look = async (): Promise<void> => {
    const { items } = await session.call((gateway, options) => gateway.transactions.page({ limit: NEWEST }, options))
    for (const item of items.toReversed()) {
      const { created_at, kind, reference, status, version } = item
      const isNews = (versions.get(reference) ?? 0) < version
      versions.set(reference, version)
      if (isFirst || !isNews) continue
      if (screen.asJson) screen.json({ transaction: item })
      else screen.line({ text: created_at, as: "quiet" }, `  ${kind.padEnd(26)}  ${reference} `, statusOf(status))
      seen()
    }
    if (isFirst) screen.note(`ready: ${session.profile.url} is asked every ${POLL_MS / 1000} s what changed (Ctrl-C ends it)`)
    isFirst = false
  }
  while (!end.aborted) {
    await look().catch((error: unknown) => {
      if (end.aborted) return
      if (!(error instanceof Refusal) || error.code !== "no_answer") throw error
      screen.note(error.message)
    })
    await pause(POLL_MS, undefined, { signal: end }).catch(() => undefined)
  }
}

/** As long as the gateway waits for an answer. */
const FORWARD_MS = 15_000

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
const sendOn = async (url: string, headers: IncomingHttpHeaders, body: Buffer<ArrayBuffer>) => {
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === "string" && !ownHeaders.has(name) ? [[name, value] as const] : []
  )
  try {
    const signal = AbortSignal.timeout(FORWARD_MS)
    const response = await fetch(url, {
      method: "POST",
      headers: Object.fromEntries(sent),
      body,
      redirect: "manual",
      signal
    })
    return { status: response.status, text: await response.text() }
  } catch {
    return { status: 502, text: `no answer from ${url}` }
  }
}

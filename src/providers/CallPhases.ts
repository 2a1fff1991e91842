import { buildConnector } from "@effect/platform-node/Undici"
import { type CallPhase, type CallTime, callPhases } from "../domain/CallTimes.ts"

/** A connection that was opened for a call: how long each part took, in milliseconds; null where there was none. */
interface Opened {
  readonly endedAt: number
  readonly dnsMs: number | null
  readonly connectMs: number
  readonly tlsMs: number | null
}

/** Milliseconds of the monotonic clock. */
type Now = () => number

/** One call's way, for its span, the log and the history: nothing is decided by it. */
export class CallPhases {
  readonly #now: Now
  readonly #begunAt: number
  readonly #openedLast: () => Opened | null
  #opened: Opened | null = null
  #writtenAt: number | null = null
  #answeredAt: number | null = null
  #requestId: string | null = null

  constructor({ now, openedLast }: { readonly now: Now; readonly openedLast: () => Opened | null }) {
    this.#now = now
    this.#begunAt = now()
    this.#openedLast = openedLast
  }

  /** A connection is at hand, and the request is written to it. */
  written(): void {
    this.#writtenAt = this.#now()
    const opened = this.#openedLast()
    this.#opened = opened !== null && opened.endedAt >= this.#begunAt ? opened : null
  }

  /** The answer's status and headers are there. */
  answered(headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>): void {
    this.#answeredAt = this.#now()
    this.#requestId = requestIdOf(headers)
  }

  /** Of a call that has just ended. Null is what it did not come to. */
  get ended() {
    const endedAt = this.#now()
    return {
      connectionWaitMs: (this.#writtenAt ?? endedAt) - this.#begunAt,
      opened: this.#opened,
      firstByteMs: between(this.#writtenAt, this.#answeredAt),
      bodyMs: between(this.#answeredAt, endedAt),
      tookMs: endedAt - this.#begunAt,
      requestId: this.#requestId
    }
  }
}

const between = (from: number | null, until: number | null): number | null =>
  from === null || until === null ? null : until - from

/** As attributes of the call's span, in tenths of a millisecond. */
export const phaseAttributes = ({ bodyMs, connectionWaitMs, firstByteMs, opened, requestId }: CallPhases["ended"]) => ({
  "gateway.connection_wait_ms": tenths(connectionWaitMs),
  ...(opened === null ? {} : { "gateway.connect_ms": tenths(opened.connectMs) }),
  ...(opened === null || opened.dnsMs === null ? {} : { "gateway.dns_ms": tenths(opened.dnsMs) }),
  ...(opened === null || opened.tlsMs === null ? {} : { "gateway.tls_ms": tenths(opened.tlsMs) }),
  ...(firstByteMs === null ? {} : { "gateway.first_byte_ms": tenths(firstByteMs) }),
  ...(bodyMs === null ? {} : { "gateway.body_ms": tenths(bodyMs) }),
  ...(requestId === null ? {} : { "gateway.provider_request_id": requestId })
})

/** The same for a line of the history, where it stands beside the call's end, with the wait for the account's pace before it. */
export const phasesOf = (
  { bodyMs, connectionWaitMs, firstByteMs, opened, tookMs }: CallPhases["ended"],
  paceMs: number
): Pick<CallTime, "tookMs" | "phases"> => {
  const timed = {
    pace: paceMs > 0 ? paceMs : null,
    wait: connectionWaitMs,
    dns: opened?.dnsMs ?? null,
    connect: opened?.connectMs ?? null,
    tls: opened?.tlsMs ?? null,
    first_byte: firstByteMs,
    body: bodyMs
  } satisfies { readonly [P in CallPhase]: number | null }
  const phases = Object.fromEntries(
    callPhases.flatMap((phase) => {
      const ms = timed[phase]
      return ms === null ? [] : [[phase, tenths(ms)] as const]
    })
  )
  return { tookMs: tenths(paceMs + tookMs), phases }
}

const tenths = (ms: number): number => Math.round(ms * 10) / 10

/** The headers in which providers, and what stands before them, name a request; a provider's support asks for it. */
const REQUEST_IDS = ["x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "cf-ray"] as const
/** The form of all of them: no text for people. */
const REQUEST_ID = /^[\w.:-]{1,100}$/

const requestIdOf = (headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>): string | null => {
  for (const name of REQUEST_IDS) {
    const value = headers[name]
    if (typeof value === "string" && REQUEST_ID.test(value)) return value
  }
  return null
}

interface Emitter {
  readonly once: (event: string, listener: () => void) => unknown
}

const isEmitter = (value: unknown): value is Emitter =>
  typeof value === "object" && value !== null && "once" in value && typeof value.once === "function"

/** Opens connections, and knows how long the last one took. */
export const timedConnector = (now: Now, options: buildConnector.BuildOptions) => {
  const dial = buildConnector(options)
  let last: Opened | null = null
  const connect: buildConnector.connector = (target, callback) => {
    const begunAt = now()
    let lookedUpAt: number | null = null
    let connectedAt: number | null = null
    // It gives its socket, though its type does not say so.
    const socket: unknown = dial(target, (...ended) => {
      const endedAt = now()
      const tcpAt = connectedAt ?? endedAt
      const isTls = target.protocol === "https:"
      last = {
        endedAt,
        dnsMs: between(begunAt, lookedUpAt),
        connectMs: tcpAt - (lookedUpAt ?? begunAt),
        tlsMs: isTls ? endedAt - tcpAt : null
      }
      callback(...ended)
    })
    if (!isEmitter(socket)) return
    socket.once("lookup", () => {
      lookedUpAt = now()
    })
    socket.once("connect", () => {
      connectedAt = now()
    })
  }
  return { connect, openedLast: () => last }
}

import { buildConnector } from "@effect/platform-node/Undici"
import { type CallPhase, type CallTime, callPhases } from "../domain/CallTimes.ts"

/** A connection that was opened for a call, with the duration of each phase in milliseconds; null when there was none. */
interface Opened {
  readonly endedAt: number
  readonly dnsMs: number | null
  readonly connectMs: number
  readonly tlsMs: number | null
}

/** Milliseconds on the monotonic clock. */
type Now = () => number

/** The timing of one call, for its span, the log and the history. No decision depends on it. */
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

  /** A connection is ready, and the request is being written to it. */
  written(): void {
    this.#writtenAt = this.#now()
    const opened = this.#openedLast()
    this.#opened = opened !== null && opened.endedAt >= this.#begunAt ? opened : null
  }

  /** The response's status and headers have arrived. */
  answered(headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>): void {
    this.#answeredAt = this.#now()
    this.#requestId = requestIdOf(headers)
  }

  /** The durations of a call that has just ended; null for a phase that it did not reach. */
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

/** As attributes of the call's span, rounded to tenths of a millisecond. */
export const phaseAttributes = ({ bodyMs, connectionWaitMs, firstByteMs, opened, requestId }: CallPhases["ended"]) => ({
  "gateway.connection_wait_ms": tenths(connectionWaitMs),
  ...(opened === null ? {} : { "gateway.connect_ms": tenths(opened.connectMs) }),
  ...(opened === null || opened.dnsMs === null ? {} : { "gateway.dns_ms": tenths(opened.dnsMs) }),
  ...(opened === null || opened.tlsMs === null ? {} : { "gateway.tls_ms": tenths(opened.tlsMs) }),
  ...(firstByteMs === null ? {} : { "gateway.first_byte_ms": tenths(firstByteMs) }),
  ...(bodyMs === null ? {} : { "gateway.body_ms": tenths(bodyMs) }),
  ...(requestId === null ? {} : { "gateway.provider_request_id": requestId })
})

/** For a line of the history: the durations with the wait for the account's pace before them. */
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

/** Headers in which providers, and proxies in front of them, return a request id. A provider's support asks for it. */
const REQUEST_IDS = ["x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "cf-ray"] as const
/** The form of all of these ids; anything else is ignored. */
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

/** Opens connections and records how long the last one took. */
export const timedConnector = (now: Now, options: buildConnector.BuildOptions) => {
  const dial = buildConnector(options)
  let last: Opened | null = null
  const connect: buildConnector.connector = (target, callback) => {
    const begunAt = now()
    let lookedUpAt: number | null = null
    let connectedAt: number | null = null
    // The connector returns its socket, although its type does not say so.
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

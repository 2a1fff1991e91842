import { Agent, type Dispatcher } from "@effect/platform-node/Undici"
import { Clock, Effect, Option, type Scope } from "effect"
import { parseExact } from "../domain/Json.ts"
import { noteCallTime } from "../runtime/CallTrail.ts"
import { noteCall, noteFailure } from "../runtime/CapturedCall.ts"
import { inClientSpan } from "../runtime/ClientSpan.ts"
import { tooLateToLeave } from "../runtime/LatestTime.ts"
import { makeTimer, type Timer } from "../runtime/Timer.ts"
import { annotateTraced } from "../runtime/Tracing.ts"
import { CallPhases, phaseAttributes, phasesOf, timedConnector } from "./CallPhases.ts"
import { isPlainEncoding, LARGEST_BODY_BYTES, plainBody } from "./PlainBody.ts"

/** One outgoing HTTP call. `operation` is its name in spans and logs: a path could carry a number. */
export interface ProviderCall {
  readonly operation: string
  readonly method: "GET" | "POST"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** For the whole call, waiting for a connection included. */
  readonly timeoutMs: number
  /** How long it has waited for the pace of its account: no part of its time limit. */
  readonly paceMs?: number
  /** The part of the account that it is for, where the provider counts each for itself; absent where the account is one. */
  readonly account?: string
  /** Asked at last, when every wait before it is over: why the call must not leave, and is `NotSent`; null where it may. */
  readonly heldBack?: Effect.Effect<string | null>
  /** Takes the body of a success piece by piece, however large it is; the answer's own is then empty. A packed one comes as every other answer. */
  readonly into?: (piece: Buffer) => void
}

/**
 * The result of a call. `NotSent`: no byte of the request was written to a connection. `Lost`: some may have been, and there is no whole
 * answer (silence among it, hence an unknown outcome); `bad_response` when the answer is not HTTP or is larger than any honest one.
 */
export type ProviderResponse =
  | {
      readonly _tag: "Answered"
      readonly status: number
      readonly contentType: string
      readonly body: string
      /** As the provider wrote it; absent where it did not. */
      readonly retryAfter?: string
    }
  | { readonly _tag: "NotSent"; readonly note: string }
  | { readonly _tag: "Lost"; readonly reason: "timeout" | "unavailable" | "bad_response"; readonly note: string }

/** Calls to one provider: never repeated, never redirected, and never an error. */
export interface Transport {
  readonly call: (call: ProviderCall) => Effect.Effect<ProviderResponse>
}

/** Of resolving, connecting and TLS together. */
const CONNECT_TIMEOUT_MS = 5000
/** To one provider; a call beyond them waits, and is not sent when its time runs out meanwhile. */
const MAXIMUM_CONNECTIONS = 64
/** Of a body that is taken piece by piece. */
const LARGEST_FILE_BYTES = 1024 * LARGEST_BODY_BYTES
const NANOS_A_MS = 1_000_000
/** A number of seconds, or a date. */
const LONGEST_RETRY_AFTER = 40
/** Shorter than providers keep idle connections, so that a call seldom meets a closing one. */
const IDLE_CONNECTION_MS = 4000

/** Closes its connections with the scope; what is under way then is `Lost`. */
export const openTransport = Effect.fn("openTransport")(function* (
  provider: string
): Effect.fn.Return<Transport, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / NANOS_A_MS
  const { connect, openedLast } = timedConnector(now, { allowH2: false, timeout: CONNECT_TIMEOUT_MS })
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent({ ...connections, connect })),
    (agent) => Effect.promise(() => agent.destroy())
  )
  const timer = yield* makeTimer
  const annotated: Transport["call"] = Effect.fnUntraced(function* (call) {
    const isTooLate = call.method === "GET" ? inTime : yield* tooLateToLeave
    const phases = new CallPhases({ now, openedLast })
    const response = yield* once({ agent, timer, isTooLate, phases }, call)
    const { ended } = phases
    yield* annotateTraced(() => ({ ...phaseAttributes(ended), ...answerAttributes(response) }))
    yield* noteCallTime(() => ({
      provider,
      operation: call.operation,
      end: endOf(response),
      ...phasesOf(ended, call.paceMs ?? 0)
    }))
    return response
  })
  return {
    // No trace headers go out: the inner workings of the gateway are private.
    call: Effect.fnUntraced(function* (call) {
      const { account, heldBack, method, operation, url } = call
      const why = heldBack === undefined ? null : yield* heldBack
      if (why !== null) return { _tag: "NotSent", note: why }
      yield* noteCall
      const response = yield* inClientSpan({ method, url, showsPath: true, provider, operation })(annotated(call))
      const failure = failureOf(response)
      if (failure !== null) yield* noteFailure(`${account === undefined ? operation : `${operation} ${account}`}: ${failure}`)
      return response
    })
  }
})

const FIRST_REFUSAL = 300
/** Null of a success; nothing of its body. */
const failureOf = (response: ProviderResponse): string | null =>
  response._tag !== "Answered" ? response.note : response.status < FIRST_REFUSAL ? null : `HTTP ${response.status}`

const endOf = (response: ProviderResponse): string => {
  if (response._tag === "Answered") return String(response.status)
  return response._tag === "Lost" ? response.reason : "not_sent"
}

const answerAttributes = (response: ProviderResponse): Readonly<Record<string, string | number>> =>
  response._tag === "Answered"
    ? {
        "http.response.status_code": response.status,
        ...(response.retryAfter === undefined ? {} : { "gateway.retry_after": response.retryAfter.slice(0, LONGEST_RETRY_AFTER) })
      }
    : { "error.type": endOf(response), note: response.note }

type Answered = Extract<ProviderResponse, { _tag: "Answered" }>

/**
 * JSON with every number as the text that was sent: none if it is not JSON. A body with another content type is not read. It is read once: an adapter
 * looks for an error in it, and then for what it hopes for.
 */
export const exactJson = (answer: Answered): Option.Option<unknown> => {
  const known = read.get(answer)
  if (known !== undefined) return known
  const { body, contentType } = answer
  const isJson = contentType === "" || /^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(contentType)
  const exact = isJson ? parsed(body) : Option.none()
  read.set(answer, exact)
  return exact
}

const read = new WeakMap<Answered, Option.Option<unknown>>()
const parsed = Option.liftThrowable(parseExact)

const connections: Agent.Options = {
  connections: MAXIMUM_CONNECTIONS,
  // One request at a time on a connection, and HTTP/1.1 only: on a shared connection the request that was read would be unknown.
  pipelining: 1,
  allowH2: false,
  keepAliveTimeout: IDLE_CONNECTION_MS,
  keepAliveMaxTimeout: IDLE_CONNECTION_MS,
  // The deadline of the whole call rules instead.
  headersTimeout: 0,
  bodyTimeout: 0
}

/** Of questions, which move nothing. */
const inTime = () => false

/** `written`: the request was handed to a connection, so that it may have arrived. */
interface Progress {
  written: boolean
  givenUp: boolean
  /** Whether it is too late for its first byte. */
  readonly isTooLate: () => boolean
  readonly phases: CallPhases
}

interface Means extends Pick<Progress, "isTooLate" | "phases"> {
  readonly agent: Agent
  readonly timer: Timer
}

const once = ({ agent, isTooLate, phases, timer }: Means, call: ProviderCall): Effect.Effect<ProviderResponse> =>
  Effect.suspend(() => {
    if (call.timeoutMs <= 0) return Effect.succeed<ProviderResponse>({ _tag: "NotSent", note: "no time left" })
    return Effect.callback<ProviderResponse>((resume) => {
      const progress: Progress = { written: false, givenUp: false, isTooLate, phases }
      const handler = new CallHandler(progress, call, (response) => {
        if (progress.givenUp) return
        stop()
        resume(Effect.succeed(response))
      })
      const stop = timer(call.timeoutMs, () => {
        handler.giveUp()
        resume(Effect.succeed(broken(progress, "timeout", "no answer in time")))
      })
      dispatch(agent, call, handler)
      return Effect.sync(() => {
        stop()
        handler.giveUp()
      })
    })
  })

const dispatch = (agent: Agent, { body, headers, method, url }: ProviderCall, handler: CallHandler): void => {
  const target = Option.getOrUndefined(parsedUrl(url))
  if (target === undefined) return handler.onResponseError(null, new Error("the address is not a URL"))
  const { origin, pathname, search } = target
  agent.dispatch({ origin, path: `${pathname}${search}`, method, headers, body }, handler)
}

const parsedUrl = Option.liftThrowable((text: string) => new URL(text))

const broken = (
  { written }: Progress,
  reason: Extract<ProviderResponse, { _tag: "Lost" }>["reason"],
  note: string
): ProviderResponse => (written ? { _tag: "Lost", reason, note } : { _tag: "NotSent", note })

class TooLateToLeave extends Error {
  override readonly message = "the process was paused too long: too late to send"
}

const oneLine = (header: string | ReadonlyArray<string> | undefined): string => (typeof header === "string" ? header : "")

/** undici's callbacks for one request, in the order in which they come. */
class CallHandler implements Dispatcher.DispatchHandler {
  readonly #progress: Progress
  readonly #into: NonNullable<ProviderCall["into"]> | null
  readonly #finish: (response: ProviderResponse) => void
  readonly #chunks: Array<Buffer> = []
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #contentType = ""
  #encoding = ""
  #retryAfter = ""
  #size = 0

  constructor(progress: Progress, { into }: Pick<ProviderCall, "into">, finish: (response: ProviderResponse) => void) {
    this.#progress = progress
    this.#into = into ?? null
    this.#finish = finish
  }

  giveUp(): void {
    this.#progress.givenUp = true
    this.#controller?.abort(new Error("given up"))
  }

  /** Called with a connection at hand, before the first byte is written to it. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { givenUp, isTooLate, written } = this.#progress
    this.#controller = controller
    // A caller that gave up has the answer that nothing was sent, and a request is written once, whatever the client library does.
    if (givenUp || written) return controller.abort(new Error("not written"))
    // This process, or its machine, may have stood still since the call began: nothing lies between this look and the writing.
    if (isTooLate()) return controller.abort(new TooLateToLeave())
    this.#progress.written = true
    this.#progress.phases.written()
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | Array<string> | undefined>>
  ): void {
    this.#progress.phases.answered(headers)
    this.#status = status
    this.#contentType = oneLine(headers["content-type"])
    this.#encoding = oneLine(headers["content-encoding"])
    this.#retryAfter = oneLine(headers["retry-after"])
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length
    const into = this.#status === 200 && isPlainEncoding(this.#encoding) ? this.#into : null
    if (into === null) this.#chunks.push(chunk)
    else into(chunk)
    if (this.#size <= (into === null ? LARGEST_BODY_BYTES : LARGEST_FILE_BYTES)) return
    this.#finish(broken(this.#progress, "bad_response", "the answer is too large"))
    controller.abort(new Error("too large"))
  }

  onResponseEnd(): void {
    const retryAfter = this.#retryAfter === "" ? {} : { retryAfter: this.#retryAfter }
    const body = plainBody(Buffer.concat(this.#chunks), this.#encoding)
    this.#finish(
      Option.isNone(body)
        ? broken(this.#progress, "bad_response", "the answer's encoding cannot be read")
        : { _tag: "Answered", status: this.#status, contentType: this.#contentType, body: body.value, ...retryAfter }
    )
  }

  onResponseError(_controller: unknown, error: Error): void {
    // Only the code: messages name addresses.
    const isTooLate = error instanceof TooLateToLeave
    const note = isTooLate ? error.message : "code" in error && typeof error.code === "string" ? error.code : error.name
    this.#finish(broken(this.#progress, error.name === "HTTPParserError" ? "bad_response" : "unavailable", note))
  }
}

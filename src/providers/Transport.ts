import { Agent, type Dispatcher } from "@effect/platform-node/Undici"
import { Clock, Effect, Option, type Scope } from "effect"
import { parseExact } from "../domain/Json.ts"
import { noteCallTime } from "../runtime/CallTrail.ts"
import { tellHeldBack } from "../runtime/CallTurn.ts"
import { noteCall, noteFailure } from "../runtime/CapturedCall.ts"
import { inClientSpan } from "../runtime/ClientSpan.ts"
import { tooLateToLeave } from "../runtime/LatestTime.ts"
import { makeTimer, type Timer } from "../runtime/Timer.ts"
import { annotateTraced } from "../runtime/Tracing.ts"
import { CallPhases, phaseAttributes, phasesOf, timedConnector } from "./CallPhases.ts"
import { isPlainEncoding, LARGEST_BODY_BYTES, plainBody } from "./PlainBody.ts"

/** One outgoing HTTP call. `operation` names it in spans and logs, because a path could contain a phone number. */
export interface ProviderCall {
  readonly operation: string
  readonly method: "GET" | "POST"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** For the whole call, including the wait for a connection. */
  readonly timeoutMs: number
  /** How long it has waited for its account's pace. Not part of the time limit. */
  readonly paceMs?: number
  /** The part of the account that it is for, when the provider counts each part separately; absent when there is only one. */
  readonly account?: string
  /** Evaluated last, after every wait: why the call must not leave, which makes it `NotSent`; null when it may. */
  readonly heldBack?: Effect.Effect<string | null>
  /** Takes a success's body in pieces, however large; the response's is then empty. A compressed one is delivered as usual. */
  readonly into?: (piece: Buffer) => void
}

/**
 * The result of a call. `NotSent`: no byte of the request was written to a connection. `Lost`: some may have been, and there is
 * no complete response, so the outcome is unknown; `bad_response` when the response is not HTTP or is too large.
 */
export type ProviderResponse =
  | {
      readonly _tag: "Answered"
      readonly status: number
      readonly contentType: string
      readonly body: string
      /** As the provider wrote it; absent when it did not. */
      readonly retryAfter?: string
    }
  | { readonly _tag: "NotSent"; readonly note: string }
  | { readonly _tag: "Lost"; readonly reason: "timeout" | "unavailable" | "bad_response"; readonly note: string }

/** Makes calls to one provider. It never retries, never follows redirects, and never fails with an error. */
export interface Transport {
  readonly call: (call: ProviderCall) => Effect.Effect<ProviderResponse>
}

/** For DNS, TCP and TLS together. */
const CONNECT_TIMEOUT_MS = 5000
/** Per provider. Further calls wait, and are not sent when their time runs out first. */
const MAXIMUM_CONNECTIONS = 64
/** For a body that is taken in pieces. */
const LARGEST_FILE_BYTES = 1024 * LARGEST_BODY_BYTES
const NANOS_A_MS = 1_000_000
/** In characters: a number of seconds, or a date. */
const LONGEST_RETRY_AFTER = 40
/** Shorter than providers keep idle connections open, so that a call seldom meets one that is closing. */
const IDLE_CONNECTION_MS = 4000

/** Closes its connections with the scope; calls in progress are then `Lost`. */
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
    // No trace headers are sent: the gateway's internals are private.
    call: Effect.fnUntraced(function* (call): Effect.fn.Return<ProviderResponse> {
      const { account, heldBack, method, operation, url } = call
      const why = heldBack === undefined ? null : yield* heldBack
      if (why !== null) {
        yield* tellHeldBack
        return { _tag: "NotSent", note: why }
      }
      yield* noteCall
      const response = yield* inClientSpan({ method, url, showsPath: true, provider, operation })(annotated(call))
      const failure = failureOf(response)
      if (failure !== null) yield* noteFailure(`${account === undefined ? operation : `${operation} ${account}`}: ${failure}`)
      return response
    })
  }
})

const FIRST_REFUSAL = 300
/** Null for a success. Contains nothing of the body. */
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

export type Answered = Extract<ProviderResponse, { _tag: "Answered" }>

/**
 * Parses JSON with every number as the text that was sent; none when it is not JSON or has another content type. The result is
 * cached, because an adapter looks for an error first and then for the expected body.
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
  // One request at a time per connection, and HTTP/1.1 only: on a shared connection it would be unknown which request was read.
  pipelining: 1,
  allowH2: false,
  keepAliveTimeout: IDLE_CONNECTION_MS,
  keepAliveMaxTimeout: IDLE_CONNECTION_MS,
  // The deadline of the whole call applies instead.
  headersTimeout: 0,
  bodyTimeout: 0
}

/** For calls that move no money. */
const inTime = () => false

/** `written`: the request was handed to a connection, so it may have arrived. */
interface Progress {
  written: boolean
  givenUp: boolean
  /** Whether it is too late to send its first byte. */
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

/** undici's callbacks for one request, in the order of their calls. */
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

  /** Called when a connection is ready, before the first byte is written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { givenUp, isTooLate, written } = this.#progress
    this.#controller = controller
    // A caller that gave up was answered that nothing was sent. A request is written once, even if the client library retries.
    if (givenUp || written) return controller.abort(new Error("not written"))
    // The process or its machine may have been suspended since the call began. Nothing runs between this check and the write.
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
    // Only the code, because messages contain addresses.
    const isTooLate = error instanceof TooLateToLeave
    const note = isTooLate ? error.message : "code" in error && typeof error.code === "string" ? error.code : error.name
    this.#finish(broken(this.#progress, error.name === "HTTPParserError" ? "bad_response" : "unavailable", note))
  }
}

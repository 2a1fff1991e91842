import { Clock, Effect, Option, Schema } from "effect"
import { CommandRefusal } from "../CommandRefusal.ts"
import { sign } from "../signing/SignedHeaders.ts"
import { exactJson } from "./ExactJson.ts"
import type { Profile } from "./Profile.ts"

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  /** Path and query. */
  readonly target: string
  /** The exact text that is signed and sent. */
  readonly body?: string
  readonly idempotencyKey?: string
}

/** Longer than the gateway waits for any provider. */
const TIMEOUT_MS = 60_000
/** A clock that is off by more is worth a word when a signature was refused. */
const SKEW_SECONDS = 20

const Refused = Schema.Struct({
  error: Schema.Struct({
    code: Schema.String,
    message: Schema.String,
    terminal: Schema.Boolean,
    retriable: Schema.Boolean,
    details: Schema.Struct({
      issues: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String }))),
      reference: Schema.optionalKey(Schema.String),
      retry_after_seconds: Schema.optionalKey(Schema.Number)
    })
  })
})
type Refused = typeof Refused.Type
const decodeRefused = Schema.decodeUnknownOption(Refused)
const decodeEnvelope = Schema.decodeUnknownOption(Schema.Struct({ data: Schema.Unknown }))

interface Reply {
  readonly status: number
  /** The gateway's own clock, as far as it says. */
  readonly date: string
  readonly text: string
}

/** The API refused. `status` and `code` are its own. */
export class ApiRefusal extends Schema.TaggedError<ApiRefusal>()("ApiRefusal", {
  message: Schema.String,
  status: Schema.Int,
  code: Schema.String
}) {}

/**
 * Signs one request, sends it once, and answers the `data` of its response with every number exact. No answer to a request that moves money
 * is not a refusal, and the message says how to ask again. Never follows a redirect: the request carries the API key.
 */
export const callGateway = Effect.fn("callGateway")(function* (profile: Profile, request: ApiRequest) {
  const url = `${profile.url}${request.target}`
  const { headers } = yield* sign(profile, { method: request.method, url, body: Buffer.from(request.body ?? "") })
  const reply = yield* send(url, request, headers)
  const body = exactJson(reply.text)
  if (reply.status < 400) {
    const envelope = Option.flatMap(body, decodeEnvelope)
    if (Option.isSome(envelope)) return envelope.value.data
  }
  const refused = Option.flatMap(body, decodeRefused)
  if (Option.isNone(refused))
    return yield* new ApiRefusal({
      status: reply.status,
      code: "",
      message: `${profile.url} answered ${reply.status}, and not as a payment gateway does: is it the right address?${again(request)}`
    })
  const { code } = refused.value.error
  const advice = code === "unauthorized" ? yield* clockAdvice(reply.date) : adviceFor(refused.value, request)
  return yield* new ApiRefusal({ status: reply.status, code, message: `${wordsOf(refused.value)} ${advice}` })
})

const send = (
  url: string,
  request: ApiRequest,
  headers: Readonly<Record<string, string>>
): Effect.Effect<Reply, CommandRefusal> =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(url, {
        method: request.method,
        headers: {
          ...headers,
          ...(request.body === undefined ? {} : { "Content-Type": "application/json" }),
          ...(request.idempotencyKey === undefined ? {} : { "Idempotency-Key": request.idempotencyKey })
        },
        ...(request.body === undefined ? {} : { body: request.body }),
        redirect: "error",
        signal
      })
      return { status: response.status, date: response.headers.get("date") ?? "", text: await response.text() }
    },
    catch: (cause) =>
      new CommandRefusal({ message: `no answer from ${new URL(url).origin} (${reasonOf(cause)}).${again(request)}` })
  }).pipe(
    Effect.timeoutOrElse({
      duration: TIMEOUT_MS,
      orElse: () =>
        Effect.fail(
          new CommandRefusal({ message: `no answer from ${new URL(url).origin} within ${TIMEOUT_MS / 1000} s.${again(request)}` })
        )
    })
  )

/** Silence is no refusal: the same key asks again without doing it twice. */
const again = ({ idempotencyKey, method }: ApiRequest): string => {
  if (method !== "POST") return ""
  return idempotencyKey === undefined
    ? " It may have been accepted: ask how it stands before you do anything else"
    : ` It may have been accepted: run the same command with --idempotency-key ${idempotencyKey}, which never does it twice`
}

const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const { cause: inner } = cause
  if (!(inner instanceof Error)) return cause.message
  return "code" in inner && typeof inner.code === "string" ? inner.code : inner.message
}

const wordsOf = ({ error: { code, details, message } }: Refused): string => {
  const issues = (details.issues ?? []).map((issue) => (issue.path === "" ? issue.message : `${issue.path} ${issue.message}`))
  return `${code}: ${issues.length === 0 ? message : issues.join("; ")}${/[.!]$/.test(issues.at(-1) ?? message) ? "" : "."}`
}

const adviceFor = ({ error }: Refused, { idempotencyKey }: ApiRequest): string => {
  if (error.terminal) return "It will not succeed as it is: change it."
  const wait = error.details.retry_after_seconds === undefined ? "" : ` in ${error.details.retry_after_seconds} s`
  const key = idempotencyKey === undefined ? "" : ` with --idempotency-key ${idempotencyKey}`
  if (error.retriable) return `Nothing moved: run it again${wait}${key}.`
  const { reference } = error.details
  return `Money may have moved: ${reference === undefined ? `run it again${key}` : `ask again with get ${reference}`}, and send nothing else meanwhile.`
}

const clockAdvice = Effect.fnUntraced(function* (date: string) {
  const ahead = Math.round(((yield* Clock.currentTimeMillis) - Date.parse(date)) / 1000)
  if (Math.abs(ahead) > SKEW_SECONDS)
    return `This machine's clock is ${Math.abs(ahead)} s ${ahead > 0 ? "ahead of" : "behind"} the gateway's: set it.`
  return "The key was revoked, or is another gateway's: log in again."
})

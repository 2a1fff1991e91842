import type { Redacted } from "effect"
import { Data, Effect, Option, Result, Schema } from "effect"
import { RawJson } from "../../domain/Json.ts"
import type { Answer, Play } from "../simulation/Endings.ts"
import type { Desk, WireAnswer, WireRequest } from "../simulation/SimulatedProvider.ts"

/** One merchant's account at Eversend; live and test mode are two of them. */
export interface EversendAccount {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted<string>
  readonly webhookSecret: Redacted.Redacted<string>
  /** Until the control port sets another. */
  readonly callbackUrl?: string | undefined
}

/** An authenticated call. */
export interface Call {
  readonly desk: Desk
  readonly merchant: EversendAccount
  readonly request: WireRequest
  readonly now: number
  /** What may happen once only (a token, a code, a page visit): true the first time that a key is seen in this process. */
  readonly claim: (key: string) => boolean
  /** What answers to a transactionRef that was seen before. */
  readonly duplicates: Duplicates
}

export type Duplicates = "refuse" | "original" | "accept"

export const PROVIDER = "eversend"

/** The call ends here with this answer. */
export class Stop extends Data.TaggedError("Stop")<{ readonly answer: WireAnswer }> {}

const json = (status: number, body: unknown): WireAnswer => ({
  kind: "answer",
  status,
  contentType: "application/json; charset=utf-8",
  body: JSON.stringify(body)
})

export const plain = (body: unknown): WireAnswer => json(200, body)
export const success = (data: unknown): WireAnswer => json(200, { code: 200, data, success: true })

/** Eversend has no codes of its own, and more than one shape for the text. */
export const refusal = (status: number, message: unknown): WireAnswer => json(status, { code: status, success: false, message })
export const refuse = (status: number, message: string) => new Stop({ answer: refusal(status, message) })
export const refusePhone = () =>
  new Stop({ answer: json(400, { message: { message: "phone number must be a valid international format" } }) })

export const decodeBody = <A>(schema: Schema.ConstraintDecoder<A>, request: WireRequest): Effect.Effect<A, Stop> => {
  const body = Option.getOrUndefined(parsed(request.body))
  const decoded = Schema.decodeUnknownResult(schema)(body)
  return Result.isSuccess(decoded) ? Effect.succeed(decoded.success) : Effect.fail(refuse(400, String(decoded.failure)))
}

/** Its numbers as they were written: a float would lose the last digits of a large amount. */
const parsed = Option.liftThrowable((text: string): unknown =>
  JSON.parse(text, (_key, value, { source }) => (typeof value === "number" && source !== undefined ? new RawJson(source) : value))
)

/** Lets an open ending through and stops the others in Eversend's own way. */
export const passGate = ({ gate }: Play): Effect.Effect<void, Stop> => {
  switch (gate) {
    case "open":
      return Effect.void
    case "refused":
      return Effect.fail(refuse(400, "Request could not be processed"))
    case "pool_short":
      return Effect.fail(refuse(402, "Insufficient wallet balance"))
    case "no_account":
      return Effect.fail(refuse(404, "Account not found"))
    case "unavailable":
      return Effect.fail(refuse(503, "Service temporarily unavailable"))
    case "unheard":
      return Effect.fail(new Stop({ answer: { kind: "silence" } }))
    case "reset":
      return Effect.fail(new Stop({ answer: { kind: "reset" } }))
  }
}

/** The answer as the ending lets it through. */
export const deliver = (manner: Answer, answer: WireAnswer): WireAnswer => {
  switch (manner) {
    case "plain":
      return answer
    case "silence":
      return { kind: "silence" }
    case "server_error":
      return refusal(500, "An error has occurred")
    case "not_json":
      return { kind: "answer", status: 200, contentType: "text/html", body: "<html><body>Bad gateway</body></html>" }
  }
}

/** Eversend's identifiers: two letters and digits. */
export const transactionId = (call: Call, prefix: "BP" | "BE"): string =>
  `${prefix}1${call.now}${String(call.desk.account.sequence()).padStart(3, "0")}`

const REFERENCE = /^[A-Za-z0-9_-]{1,64}$/

export const checkReference = (reference: string | undefined): Effect.Effect<void, Stop> =>
  reference === undefined || REFERENCE.test(reference)
    ? Effect.void
    : Effect.fail(refuse(400, "transactionRef must be alphanumeric"))

import { Data, Effect, Option, type Redacted, Result, Schema } from "effect"
import { json } from "../../domain/Json.ts"
import type { Answer, Play } from "../simulation/Endings.ts"
import type { Desk, WireAnswer, WireRequest } from "../simulation/SimulatedProvider.ts"

/** One integration at Paystack; its live and its test key are two of them. */
export interface PaystackAccount {
  /** Public: what the simulator calls it. */
  readonly clientId: string
  readonly secretKey: Redacted.Redacted<string>
  /** Until the control port sets another. */
  readonly callbackUrl?: string | undefined
}

/** An authenticated call. */
export interface Call {
  readonly desk: Desk
  readonly merchant: PaystackAccount
  readonly request: WireRequest
  readonly now: number
  /** What may happen once only: true the first time that a key is seen in this process. */
  readonly claim: (key: string) => boolean
}

export const PROVIDER = "paystack"

/** The call ends here with this answer. */
export class Stop extends Data.TaggedError("Stop")<{ readonly answer: WireAnswer }> {}

const wire = (status: number, body: object): WireAnswer => ({
  kind: "answer",
  status,
  contentType: "application/json; charset=utf-8",
  body: json(body)
})

export const success = (message: string, data: unknown, meta?: object, status = 200): WireAnswer =>
  wire(status, { status: true, message, data, ...(meta === undefined ? {} : { meta }) })

interface Fault {
  readonly type: "validation_error" | "api_error"
  readonly code: string
}

export const refusal = (status: number, message: string, { code, type }: Fault): WireAnswer =>
  wire(status, { status: false, message, meta: { nextStep: "Read the message" }, type, code })

export const refuse = (status: number, message: string, code = "invalid_params") =>
  new Stop({ answer: refusal(status, message, { type: "validation_error", code }) })

/** Older answers have no type and no code. */
export const refusePlainly = (status: number, message: string) => new Stop({ answer: wire(status, { status: false, message }) })

/** Without a content type too, and with every number as it was written: a float would lose the last digits of a large amount. */
export const decodeBody = <A>(schema: Schema.ConstraintDecoder<A>, request: WireRequest): Effect.Effect<A, Stop> => {
  const decoded = Schema.decodeUnknownResult(schema)(Option.getOrUndefined(parsed(request.body)))
  return Result.isSuccess(decoded) ? Effect.succeed(decoded.success) : Effect.fail(refuse(400, String(decoded.failure)))
}

const parsed = Option.liftThrowable((text: string): unknown =>
  JSON.parse(text, (_key, value, { source }) => (typeof value === "number" ? (source ?? String(value)) : value))
)

export const SHORT_BALANCE = "Your balance is not enough to fulfill this request"

const broken: Fault = { type: "api_error", code: "unknown" }

/** Lets an open ending through and stops the others in Paystack's own way. */
export const passGate = ({ gate }: Play): Effect.Effect<void, Stop> => {
  switch (gate) {
    case "open":
      return Effect.void
    case "refused":
      return Effect.fail(refuse(400, "Sorry, this could not be done at the moment"))
    case "pool_short":
      return Effect.fail(refusePlainly(400, SHORT_BALANCE))
    case "no_account":
      return Effect.fail(refuse(400, "The account is not known", "invalid_account"))
    case "unavailable":
      return Effect.fail(new Stop({ answer: refusal(503, "An error occurred", broken) }))
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
      return refusal(500, "An error occurred", broken)
    case "not_json":
      return { kind: "answer", status: 200, contentType: "text/html", body: "<html><body>Bad gateway</body></html>" }
  }
}

/** Paystack's identifiers of charges: digits. */
export const numericId = ({ desk, now }: Call): string => `${now}${String(desk.account.sequence()).padStart(3, "0")}`

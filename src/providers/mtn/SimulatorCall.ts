import { Data, Effect, Result, Schema } from "effect"
import type { Answer, Play } from "../simulation/Endings.ts"
import type { Desk, WireAnswer, WireRequest } from "../simulation/SimulatedProvider.ts"
import type { CountryAccount } from "./Client.ts"
import type { Product } from "./Wire.ts"

export const PROVIDER = "mtn"

/** Who calls: an account as the simulator's book knows it, and the country that the call is for. */
export interface Merchant {
  readonly account: string
  readonly country: CountryAccount
}

/** An authenticated call. */
export interface Call {
  readonly desk: Desk
  readonly merchant: Merchant
  readonly product: Product
  readonly request: WireRequest
  readonly now: number
  /** True the first time that a key is seen in this process. */
  readonly claim: (key: string) => boolean
}

/** The call ends here with this answer. */
export class Stop extends Data.TaggedError("Stop")<{ readonly answer: WireAnswer }> {}

export const json = (status: number, body: unknown): WireAnswer => ({
  kind: "answer",
  status,
  contentType: "application/json;charset=utf-8",
  body: JSON.stringify(body)
})

/** 202, and not one byte more. */
export const taken: WireAnswer = { kind: "answer", status: 202, contentType: "application/json", body: "" }

export const refuse = (status: number, code: string, message: string): Stop =>
  new Stop({ answer: json(status, { code, message }) })

/** The API gateway in front of MTN has no codes. */
export const turnAway = (statusCode: number, message: string): Stop =>
  new Stop({ answer: json(statusCode, { statusCode, message }) })

export const decodeBody = <A>(schema: Schema.ConstraintDecoder<A>, { body }: WireRequest): Effect.Effect<A, Stop> => {
  const decoded = Schema.decodeUnknownResult(Schema.fromJsonString(schema))(body)
  return Result.isSuccess(decoded)
    ? Effect.succeed(decoded.success)
    : Effect.fail(refuse(400, "BAD_REQUEST", String(decoded.failure)))
}

/** Stops what never comes to a movement; MTN takes a movement that it will fail for want of money or of an account. */
export const passGate = ({ gate }: Play): Effect.Effect<void, Stop> => {
  switch (gate) {
    case "open":
    case "pool_short":
    case "no_account":
      return Effect.void
    case "refused":
      return Effect.fail(refuse(400, "BAD_REQUEST", "The request could not be processed."))
    case "unavailable":
      return Effect.fail(refuse(503, "SERVICE_UNAVAILABLE", "Service temporarily unavailable, try again later."))
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
      return json(500, { code: "INTERNAL_PROCESSING_ERROR", message: "An internal error occurred while processing." })
    case "not_json":
      return { kind: "answer", status: 200, contentType: "text/html", body: "<html><body>Bad gateway</body></html>" }
  }
}

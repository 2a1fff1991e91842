import { type Effect, Schema } from "effect"
import type { CountryAccount } from "../../providers/mtn/Client.ts"
import type { Product } from "../../providers/mtn/Wire.ts"
import { answered, decodedOr, delivering, gated, Stop } from "../Answers.ts"
import type { SimulatorContext, WireAnswer, WireRequest } from "../SimulatedProvider.ts"

export const PROVIDER = "mtn"

/** Who calls: an account as the simulator's book knows it, and the country that the call is for. */
export interface Merchant {
  readonly account: string
  readonly country: CountryAccount
}

/** An authenticated call. */
export interface Call {
  readonly context: SimulatorContext
  readonly merchant: Merchant
  readonly product: Product
  readonly request: WireRequest
  readonly now: number
  /** True the first time that a key is seen in this process. */
  readonly claim: (key: string) => boolean
}

export const json = (status: number, body: unknown): WireAnswer =>
  answered(status, "application/json;charset=utf-8", JSON.stringify(body))

/** 202, and not one byte more. */
export const taken: WireAnswer = answered(202, "application/json", "")

export const refuse = (status: number, code: string, message: string): Stop =>
  new Stop({ answer: json(status, { code, message }) })

/** The API gateway in front of MTN has no codes. */
export const turnAway = (statusCode: number, message: string): Stop =>
  new Stop({ answer: json(statusCode, { statusCode, message }) })

export const decodeBody = <A>(schema: Schema.ConstraintDecoder<A>, { body }: WireRequest): Effect.Effect<A, Stop> =>
  decodedOr(Schema.fromJsonString(schema), body, (why) => refuse(400, "BAD_REQUEST", why))

/** Stops what never comes to a movement; MTN takes a movement that it will fail for want of money or of an account. */
export const passGate = gated({
  refused: refuse(400, "BAD_REQUEST", "The request could not be processed.").answer,
  unavailable: refuse(503, "SERVICE_UNAVAILABLE", "Service temporarily unavailable, try again later.").answer
})

export const deliver = delivering(
  json(500, { code: "INTERNAL_PROCESSING_ERROR", message: "An internal error occurred while processing." })
)

import type { Effect, Redacted, Schema } from "effect"
import { json } from "../../domain/Json.ts"
import { answered, decodedOr, delivering, exactBody, gated, Stop } from "../Answers.ts"
import type { SimulatorContext, WireAnswer, WireRequest } from "../SimulatedProvider.ts"

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
  readonly context: SimulatorContext
  readonly merchant: PaystackAccount
  readonly request: WireRequest
  readonly now: number
  /** What may happen once only: true the first time that a key is seen in this process. */
  readonly claim: (key: string) => boolean
}

export const PROVIDER = "paystack"

const wire = (status: number, body: object): WireAnswer => answered(status, "application/json; charset=utf-8", json(body))

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

/** Without a content type too. */
export const decodeBody = <A>(schema: Schema.ConstraintDecoder<A>, request: WireRequest): Effect.Effect<A, Stop> =>
  decodedOr(schema, exactBody(request), (why) => refuse(400, why))

export const SHORT_BALANCE = "Your balance is not enough to fulfill this request"

const broken: Fault = { type: "api_error", code: "unknown" }

export const passGate = gated({
  refused: refuse(400, "Sorry, this could not be done at the moment").answer,
  pool_short: refusePlainly(400, SHORT_BALANCE).answer,
  no_account: refuse(400, "The account is not known", "invalid_account").answer,
  unavailable: refusal(503, "An error occurred", broken)
})

export const deliver = delivering(refusal(500, "An error occurred", broken))

/** Paystack's identifiers of charges: digits. */
export const numericId = ({ context, now }: Call): string => `${now}${String(context.account.sequence()).padStart(3, "0")}`

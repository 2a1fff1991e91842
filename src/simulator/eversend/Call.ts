import { Effect, type Redacted, type Schema } from "effect"
import { RawJson } from "../../domain/Json.ts"
import { answered, decodedOr, delivering, exactBody, gated, Stop } from "../Answers.ts"
import type { SimulatorContext, WireAnswer, WireRequest } from "../SimulatedProvider.ts"

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
  readonly context: SimulatorContext
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

const json = (status: number, body: unknown): WireAnswer =>
  answered(status, "application/json; charset=utf-8", JSON.stringify(body))

export const plain = (body: unknown): WireAnswer => json(200, body)
export const success = (data: unknown): WireAnswer => json(200, { code: 200, data, success: true })

/** Eversend has no codes of its own, and more than one shape for the text. */
export const refusal = (status: number, message: unknown): WireAnswer => json(status, { code: status, success: false, message })
export const refuse = (status: number, message: string) => new Stop({ answer: refusal(status, message) })
export const refusePhone = () =>
  new Stop({ answer: json(400, { message: { message: "phone number must be a valid international format" } }) })

export const decodeBody = <A>(schema: Schema.ConstraintDecoder<A>, request: WireRequest): Effect.Effect<A, Stop> =>
  decodedOr(
    schema,
    exactBody(request, (text) => new RawJson(text)),
    (why) => refuse(400, why)
  )

export const passGate = gated({
  refused: refusal(400, "Request could not be processed"),
  pool_short: refusal(402, "Insufficient wallet balance"),
  no_account: refusal(404, "Account not found"),
  unavailable: refusal(503, "Service temporarily unavailable")
})

export const deliver = delivering(refusal(500, "An error has occurred"))

/** Eversend's identifiers: two letters and digits. */
export const transactionId = (call: Call, prefix: "BP" | "BE"): string =>
  `${prefix}1${call.now}${String(call.context.account.sequence()).padStart(3, "0")}`

const REFERENCE = /^[A-Za-z0-9_-]{1,64}$/

export const checkReference = (reference: string | undefined): Effect.Effect<void, Stop> =>
  reference === undefined || REFERENCE.test(reference)
    ? Effect.void
    : Effect.fail(refuse(400, "transactionRef must be alphanumeric"))

/** A quotation's token is spent once, also by two at the same time. */
export const spend = ({ claim, context }: Call, used: string): Effect.Effect<void, Stop> =>
  context.account.note(used) === undefined && claim(used)
    ? Effect.void
    : Effect.fail(refuse(400, "Quotation token has already been used"))

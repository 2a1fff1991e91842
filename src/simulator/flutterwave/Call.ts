import { createHash, timingSafeEqual } from "node:crypto"
import { DateTime, Effect, type Redacted, Result, type Schema } from "effect"
import { type Currency, isCurrency } from "../../domain/Currency.ts"
import { json as exactJson, RawJson } from "../../domain/Json.ts"
import { fromDecimal, toDecimal } from "../../domain/Money.ts"
import { answered, decodedOr, delivering, exactBody, gated, Stop } from "../Answers.ts"
import type { SimulatorContext, WireAnswer, WireRequest } from "../SimulatedProvider.ts"

/** One merchant's account at Flutterwave; live and test mode are two of them. */
export interface FlutterwaveAccount {
  /** The simulator's own name for it: at Flutterwave the key is the account. */
  readonly clientId: string
  readonly secretKey: Redacted.Redacted
  readonly webhookSecretHash: Redacted.Redacted
  /** Until the control port sets another. */
  readonly callbackUrl?: string | undefined
}

/** An authenticated call. */
export interface Call {
  readonly context: SimulatorContext
  readonly merchant: FlutterwaveAccount
  readonly request: WireRequest
  readonly now: number
}

export const PROVIDER = "flutterwave"

const json = (status: number, body: object): WireAnswer => answered(status, "application/json; charset=utf-8", exactJson(body))

export const success = (message: string, data: unknown, more: object = {}): WireAnswer =>
  json(200, { status: "success", message, data, ...more })

/** An answer without `data`, as a charge that continues on a page has. */
export const successWithout = (message: string, more: object): WireAnswer => json(200, { status: "success", message, ...more })

export const refusal = (status: number, message: string): WireAnswer => json(status, { status: "error", message, data: null })
export const refuse = (status: number, message: string) => new Stop({ answer: refusal(status, message) })

export const decodeBody = <A>(schema: Schema.ConstraintDecoder<A>, request: WireRequest): Effect.Effect<A, Stop> =>
  decodedOr(schema, exactBody(request), (why) => refuse(400, why))

/** What is asked for in major units, exactly. */
export const moneyOf = Effect.fnUntraced(function* (amount: string, currency: string) {
  if (!isCurrency(currency)) return yield* refuse(400, "currency is not supported")
  const units = fromDecimal(amount, currency)
  if (Result.isFailure(units) || units.success === 0n) return yield* refuse(400, "amount is invalid")
  return { amount: units.success, currency }
})

/** A JSON number in major units, to the digit. */
export const number = (amount: bigint, currency: Currency): RawJson => {
  const text = toDecimal(amount, currency)
  return new RawJson(text.includes(".") ? text.replace(/\.?0+$/, "") : text)
}

export const iso = (at: number) => DateTime.formatIso(DateTime.makeUnsafe(at))

/** A wallet that is too small is no gate: that is told later. */
export const passGate = gated({
  refused: refusal(400, "Request could not be processed"),
  no_account: refusal(400, "Sorry, that account number is invalid, please check and try again"),
  unavailable: refusal(503, "Service unavailable")
})

export const deliver = delivering(refusal(500, "An error occurred"))

/** Flutterwave's identifiers are numbers. */
export const newId = ({ context, now }: Call): string => `${now}${String(context.account.sequence() % 1000).padStart(3, "0")}`

export const isSame = (a: string, b: string): boolean =>
  timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest())

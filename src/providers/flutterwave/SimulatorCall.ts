import { createHash, timingSafeEqual } from "node:crypto"
import type { Redacted } from "effect"
import { Data, DateTime, Effect, Option, Result, Schema } from "effect"
import { type Currency, isCurrency } from "../../domain/Currency.ts"
import { json as exactJson, RawJson } from "../../domain/Json.ts"
import { fromDecimal, toDecimal } from "../../domain/Money.ts"
import type { Answer, Play } from "../simulation/Endings.ts"
import type { Desk, WireAnswer, WireRequest } from "../simulation/SimulatedProvider.ts"

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
  readonly desk: Desk
  readonly merchant: FlutterwaveAccount
  readonly request: WireRequest
  readonly now: number
}

export const PROVIDER = "flutterwave"

/** The call ends here with this answer. */
export class Stop extends Data.TaggedError("Stop")<{ readonly answer: WireAnswer }> {}

const json = (status: number, body: object): WireAnswer => ({
  kind: "answer",
  status,
  contentType: "application/json; charset=utf-8",
  body: exactJson(body)
})

export const success = (message: string, data: unknown, more: object = {}): WireAnswer =>
  json(200, { status: "success", message, data, ...more })

/** An answer without `data`, as a charge that continues on a page has. */
export const successWithout = (message: string, more: object): WireAnswer => json(200, { status: "success", message, ...more })

export const refusal = (status: number, message: string): WireAnswer => json(status, { status: "error", message, data: null })
export const refuse = (status: number, message: string) => new Stop({ answer: refusal(status, message) })

// Numbers as the text that was sent, so that a large amount keeps its last digit.
const parsed = Option.liftThrowable((text: string): unknown =>
  JSON.parse(text, (_key, value: unknown, { source }) => (typeof value === "number" ? (source ?? String(value)) : value))
)

export const decodeBody = <A>(schema: Schema.ConstraintDecoder<A>, request: WireRequest): Effect.Effect<A, Stop> => {
  const body = Option.getOrUndefined(parsed(request.body))
  const decoded = Schema.decodeUnknownResult(schema)(body)
  return Result.isSuccess(decoded) ? Effect.succeed(decoded.success) : Effect.fail(refuse(400, String(decoded.failure)))
}

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

/** Lets an open ending through and stops the others in Flutterwave's own way. A wallet that is too small is no gate: that is told later. */
export const passGate = ({ gate }: Play): Effect.Effect<void, Stop> => {
  switch (gate) {
    case "open":
    case "pool_short":
      return Effect.void
    case "refused":
      return Effect.fail(refuse(400, "Request could not be processed"))
    case "no_account":
      return Effect.fail(refuse(400, "Sorry, that account number is invalid, please check and try again"))
    case "unavailable":
      return Effect.fail(refuse(503, "Service unavailable"))
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
      return refusal(500, "An error occurred")
    case "not_json":
      return { kind: "answer", status: 200, contentType: "text/html", body: "<html><body>Bad gateway</body></html>" }
  }
}

/** Flutterwave's identifiers are numbers. */
export const newId = ({ desk, now }: Call): string => `${now}${String(desk.account.sequence() % 1000).padStart(3, "0")}`

export const isSame = (a: string, b: string): boolean =>
  timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest())

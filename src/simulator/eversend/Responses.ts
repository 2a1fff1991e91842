import { Effect, type Redacted } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { json as exactJson, RawJson } from "../../domain/Json.ts"
import { toDecimal } from "../../domain/Money.ts"
import { type Merchant, type MerchantCall, newDigits } from "../Call.ts"
import { type Ending, type Gate, playOf } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { bodyOr, type ErrorResponses, rawBody, response, Stop } from "../Responses.ts"
import type { SimulatedResponse } from "../SimulatedProvider.ts"

export interface EversendAccount extends Merchant {
  readonly clientSecret: Redacted.Redacted
  readonly webhookSecret: Redacted.Redacted
}

export type Call = MerchantCall<EversendAccount>

const json = (status: number, body: unknown): SimulatedResponse =>
  response(status, "application/json; charset=utf-8", exactJson(body))

export const plain = (body: unknown): SimulatedResponse => json(200, body)
export const success = (data: unknown): SimulatedResponse => json(200, { code: 200, data, success: true })

/** Eversend's documented name of each status. The documents show no texts of refusals, so nothing may depend on one. */
const documented: Readonly<Record<number, string>> = {
  400: "Bad request",
  401: "Invalid token",
  402: "Request failed",
  403: "No permission",
  404: "Not found",
  429: "Too many requests",
  500: "An error has occurred",
  503: "Service unavailable"
}

/** Eversend has no codes of its own, and more than one shape for the text. */
export const refusal = (status: number, message = documented[status]): SimulatedResponse =>
  json(status, { code: status, success: false, message })
export const refuse = (status: number, message?: string) => new Stop({ response: refusal(status, message) })
export const refusePhone = () =>
  new Stop({ response: json(400, { message: { message: "phone number must be a valid international format" } }) })

export const shortBalance = refuse(402)
export const amountRefused = refuse(400)

export const decodeBody = bodyOr(() => refuse(400), rawBody)

export const errors: ErrorResponses = {
  refused: refusal(400),
  pool_short: shortBalance.response,
  no_account: refusal(404),
  unavailable: refusal(503),
  broken: refusal(500)
}

const reasons: Partial<Record<Gate, string>> = {
  refused: "Charge was rejected",
  pool_short: "Insufficient wallet balance",
  no_account: "Account not found"
}

/**
 * The failure of a movement for a number that is refused: the movement is created and fails immediately, because an HTTP status
 * would prove nothing. The reasons are the simulator's own.
 */
export const failingAtOnce = (kind: SimulatedTransaction["kind"], ending: Ending) => {
  const reason = reasons[playOf(kind, ending).gate]
  return reason === undefined
    ? {}
    : ({
        errors: { ...errors, refused: undefined, pool_short: undefined, no_account: undefined },
        status: "failed",
        reason
      } as const)
}

/** Eversend's identifiers: two letters and digits. */
export const newId = (call: Call, prefix: "BP" | "BE"): string => `${prefix}1${newDigits(call)}`

const REFERENCE = /^[A-Za-z0-9_-]{1,64}$/

export const checkReference = (reference: string | undefined): Effect.Effect<void, Stop> =>
  reference === undefined || REFERENCE.test(reference) ? Effect.void : Effect.fail(refuse(400))

/** A quotation's token is spent only once, even by two concurrent calls and after a restart. */
export const spendToken = ({ context, provider }: Call, purpose: "quotation" | "exchange", once: string) => {
  const key = `${provider}/${purpose}/${once}`
  return {
    once: { key, isUsed: context.account.note(key) !== undefined, refusal: refuse(400) },
    alongside: ({ id }: SimulatedTransaction) => [{ fact: "note", key, value: id } as const]
  }
}

/** As a JSON number, to the digit. */
export const number = (amount: bigint, currency: Currency): RawJson => new RawJson(toDecimal(amount, currency))

/** Its form is not documented: here the same as other refusals. */
export const tooMany = refusal(429)

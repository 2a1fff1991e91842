import type { KeyObject } from "node:crypto"
import { Data, Effect, type Redacted, Result, Schema } from "effect"
import type { Answer, Play } from "../simulation/Endings.ts"
import type { Desk, WireAnswer, WireRequest } from "../simulation/SimulatedProvider.ts"

/** One merchant's account at pawaPay; live and test mode are two of them. */
export interface PawapayAccount {
  /** Not on the wire: pawaPay knows an account by its token. */
  readonly clientId: string
  readonly apiToken: Redacted.Redacted
  /** Until the control port sets another. */
  readonly callbackUrl?: string | undefined
}

/** An authenticated call. */
export interface Call {
  readonly desk: Desk
  readonly merchant: PawapayAccount
  readonly request: WireRequest
  /** With what callbacks are signed. */
  readonly signedBy: KeyObject
  readonly now: number
}

export const PROVIDER = "pawapay"

/** The call ends here with this answer. */
export class Stop extends Data.TaggedError("Stop")<{ readonly answer: WireAnswer }> {}

export const json = (status: number, body: unknown): WireAnswer => ({
  kind: "answer",
  status,
  contentType: "application/json",
  body: JSON.stringify(body)
})

/** What the identifier is called, and the one that was sent. */
export interface Subject {
  readonly member: "depositId" | "payoutId"
  readonly id: string
}

const texts: Readonly<Record<string, string>> = {
  AMOUNT_OUT_OF_BOUNDS: "The amount is not within the limits of the provider.",
  PAWAPAY_WALLET_OUT_OF_FUNDS: "The balance of the wallet does not cover the payout.",
  UNKNOWN_ERROR: "Unable to process request due to an unknown problem."
}

export const reason = (failureCode: string) => ({
  failureReason: { failureCode, failureMessage: texts[failureCode] ?? `Refused: ${failureCode}.` }
})

/** A business refusal has HTTP 200. A refused amount comes without the identifier, as it does at pawaPay. */
export const reject = ({ id, member }: Subject, failureCode: string, status = 200) =>
  new Stop({
    answer: json(status, {
      [member]: failureCode === "AMOUNT_OUT_OF_BOUNDS" ? null : id,
      status: "REJECTED",
      ...reason(failureCode)
    })
  })

/** A call that is no payment. */
export const refuse = (status: number, failureCode: string) => new Stop({ answer: json(status, reason(failureCode)) })

export const decodeBody = <A>(schema: Schema.ConstraintDecoder<A>, request: WireRequest): Effect.Effect<A, Stop> => {
  const decoded = Schema.decodeUnknownResult(Schema.fromJsonString(schema))(request.body)
  return Result.isSuccess(decoded)
    ? Effect.succeed(decoded.success)
    : Effect.fail(new Stop({ answer: json(400, { status: "REJECTED", ...reason("INVALID_INPUT") }) }))
}

/** Lets an open ending through and stops the others in pawaPay's own way. */
export const passGate = ({ gate }: Play, subject: Subject): Effect.Effect<void, Stop> => {
  switch (gate) {
    case "open":
      return Effect.void
    case "refused":
      return Effect.fail(reject(subject, "AMOUNT_OUT_OF_BOUNDS"))
    case "pool_short":
      return Effect.fail(reject(subject, "PAWAPAY_WALLET_OUT_OF_FUNDS"))
    case "no_account":
      return Effect.fail(reject(subject, "INVALID_PHONE_NUMBER"))
    case "unavailable":
      return Effect.fail(new Stop({ answer: page(503) }))
    case "unheard":
      return Effect.fail(new Stop({ answer: { kind: "silence" } }))
    case "reset":
      return Effect.fail(new Stop({ answer: { kind: "reset" } }))
  }
}

/** The answer as the ending lets it through; an error of pawaPay's own has no status, and the payment may exist all the same. */
export const deliver = (manner: Answer, answer: WireAnswer, subject?: Subject): WireAnswer => {
  switch (manner) {
    case "plain":
      return answer
    case "silence":
      return { kind: "silence" }
    case "server_error":
      return json(500, { ...(subject === undefined ? {} : { [subject.member]: subject.id }), ...reason("UNKNOWN_ERROR") })
    case "not_json":
      return page(200)
  }
}

/** What stands before pawaPay answers by itself. */
const page = (status: number): WireAnswer => ({
  kind: "answer",
  status,
  contentType: "text/html",
  body: "<html><body>Bad gateway</body></html>"
})

import type { KeyObject } from "node:crypto"
import { type Effect, type Redacted, Schema } from "effect"
import { answered, badGateway, decodedOr, delivering, gated, Stop } from "../Answers.ts"
import type { Answer, Play } from "../Endings.ts"
import type { SimulatorContext, WireAnswer, WireRequest } from "../SimulatedProvider.ts"

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
  readonly context: SimulatorContext
  readonly merchant: PawapayAccount
  readonly request: WireRequest
  /** With what callbacks are signed. */
  readonly signedBy: KeyObject
  readonly now: number
}

export const PROVIDER = "pawapay"

export const json = (status: number, body: unknown): WireAnswer => answered(status, "application/json", JSON.stringify(body))

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

export const decodeBody = <A>(schema: Schema.ConstraintDecoder<A>, { body }: WireRequest): Effect.Effect<A, Stop> =>
  decodedOr(
    Schema.fromJsonString(schema),
    body,
    () => new Stop({ answer: json(400, { status: "REJECTED", ...reason("INVALID_INPUT") }) })
  )

export const passGate = (play: Play, subject: Subject): Effect.Effect<void, Stop> =>
  gated({
    refused: reject(subject, "AMOUNT_OUT_OF_BOUNDS").answer,
    pool_short: reject(subject, "PAWAPAY_WALLET_OUT_OF_FUNDS").answer,
    no_account: reject(subject, "INVALID_PHONE_NUMBER").answer,
    unavailable: badGateway(503)
  })(play)

/** An error of pawaPay's own has no status, and the payment may exist all the same. */
export const deliver = (manner: Answer, answer: WireAnswer, subject?: Subject): WireAnswer => {
  const named = subject === undefined ? {} : { [subject.member]: subject.id }
  return delivering(json(500, { ...named, ...reason("UNKNOWN_ERROR") }))(manner, answer)
}

/** Calls that move nothing: whatever would refuse a payment is an error of theirs. */
const invalid = json(400, reason("INVALID_INPUT"))
export const passFree = gated({ refused: invalid, pool_short: invalid, no_account: invalid, unavailable: badGateway(503) })

import type { KeyObject } from "node:crypto"
import type { Redacted } from "effect"
import type { Merchant, MerchantCall } from "../Call.ts"
import { badGateway, bodyOr, type ErrorResponses, jsonAs, page, Stop } from "../Responses.ts"
import type { SimulatedResponse } from "../SimulatedProvider.ts"

/** pawaPay identifies an account by its token. */
export interface PawapayAccount extends Merchant {
  readonly apiToken: Redacted.Redacted
  /** The public key that the merchant registered for its requests, with its id; null where they need no signature. */
  readonly requestKey: { readonly id: string; readonly key: KeyObject } | null
}

export type Call = MerchantCall<PawapayAccount>

export const json = jsonAs("application/json")

/** The name of the identifier, and its value. */
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

/** A business refusal has HTTP status 200. A refused amount comes without the identifier, as at pawaPay. */
export const reject = ({ id, member }: Subject, failureCode: string, status = 200) =>
  new Stop({
    response: json(status, {
      [member]: failureCode === "AMOUNT_OUT_OF_BOUNDS" ? null : id,
      status: "REJECTED",
      ...reason(failureCode)
    })
  })

/** A refusal of a call that is no payment. */
export const refuse = (status: number, failureCode: string) => new Stop({ response: json(status, reason(failureCode)) })

/** A refusal of a call that cannot be read, or whose caller is not known. */
export const rejected = (status: number, failureCode: string): Stop =>
  new Stop({ response: json(status, { status: "REJECTED", ...reason(failureCode) }) })

export const decodeBody = bodyOr(() => rejected(400, "INVALID_INPUT"))

/** An error of pawaPay itself has no status, and the payment may exist nevertheless. */
const broken = (named: object): SimulatedResponse => json(500, { ...named, ...reason("UNKNOWN_ERROR") })

export const paymentErrors = (subject: Subject): ErrorResponses => ({
  refused: reject(subject, "AMOUNT_OUT_OF_BOUNDS").response,
  pool_short: reject(subject, "PAWAPAY_WALLET_OUT_OF_FUNDS").response,
  no_account: reject(subject, "INVALID_PHONE_NUMBER").response,
  unavailable: badGateway(503),
  broken: broken({ [subject.member]: subject.id })
})

/** For calls that move nothing, where the refusal of a payment becomes an error. */
const invalid = json(400, reason("INVALID_INPUT"))
export const errors: ErrorResponses = {
  refused: invalid,
  pool_short: invalid,
  no_account: invalid,
  unavailable: badGateway(503),
  broken: broken({})
}

/** Its form is not documented: here the machine in front of pawaPay answers. */
export const tooMany = page("Too many requests", 429)

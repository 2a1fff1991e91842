import { Effect, Redacted, Schema } from "effect"
import type { DarajaSettings } from "../../providers/daraja/Client.ts"
import type { Merchant, MerchantCall } from "../Call.ts"
import { bodyOr, type ErrorResponses, jsonAs, Stop } from "../Responses.ts"
import type { SimulatedResponse } from "../SimulatedProvider.ts"

/** An account at Safaricom: its two shortcodes share one consumer key. */
export interface Shortcodes extends Merchant {
  readonly settings: DarajaSettings
}

export type Call = MerchantCall<Shortcodes>

export const json = jsonAs("application/json;charset=UTF-8")

const errorBody = (errorCode: string, errorMessage: string) => ({ requestId: "7d10-4c6e-81ce-1", errorCode, errorMessage })

export const refuse = (status: number, code: string, message: string): Stop =>
  new Stop({ response: json(status, errorBody(code, message)) })

export const decodeBody = bodyOr((why) => refuse(400, "400.002.02", `Bad Request - ${why}`))

/** Safaricom accepts a transaction that it will fail for lack of money or of an account. */
export const errors: ErrorResponses = {
  refused: json(400, errorBody("400.002.02", "Bad Request - Invalid Amount")),
  unavailable: json(503, errorBody("00.002.1001", "Service is under maintenance")),
  broken: json(500, errorBody("500.003.1001", "Internal Server Error"))
}

export const tooMany = json(429, errorBody("500.003.02", "System is busy. Please try again in few minutes."))

export const acknowledged = (originator: string, conversation: string): SimulatedResponse =>
  json(200, {
    ConversationID: conversation,
    OriginatorConversationID: originator,
    ResponseCode: "0",
    ResponseDescription: "Accept the service request successfully."
  })

/** `AG_20261128_2010aa51c7e09f33` */
export const conversationOf = ({ context, now }: Pick<Call, "context" | "now">): string =>
  `AG_${new Date(now).toISOString().slice(0, 10).replaceAll("-", "")}_${now.toString(16)}${context.account.sequence().toString(16)}`

export const Stamped = Schema.Struct({
  BusinessShortCode: Schema.String,
  Password: Schema.String,
  Timestamp: Schema.String.check(Schema.isPattern(/^\d{14}$/))
})

/** A prompt, and a query about one, carry a password derived from their timestamp. */
export const checkPassword = ({ merchant: { settings } }: Call, stamped: typeof Stamped.Type) => {
  const { passkey, shortcode } = settings
  if (stamped.BusinessShortCode !== shortcode) return refuse(400, "400.002.02", "Bad Request - Invalid BusinessShortCode")
  const wanted = Buffer.from(shortcode + Redacted.value(passkey) + stamped.Timestamp).toString("base64")
  return stamped.Password === wanted ? Effect.void : refuse(500, "500.001.1001", "Wrong credentials")
}

/** The initiator's password is not checked: only Safaricom can decrypt it. */
export const checkInitiator = (
  { merchant }: Call,
  request: { readonly Initiator: string; readonly SecurityCredential: string }
) => {
  if (request.Initiator !== merchant.settings.initiator) return refuse(400, "400.002.02", "Bad Request - Invalid Initiator")
  return Buffer.from(request.SecurityCredential, "base64").length === CREDENTIAL_BYTES
    ? Effect.void
    : refuse(400, "400.002.02", "Bad Request - Invalid SecurityCredential")
}
const CREDENTIAL_BYTES = 256

const REFUSED = /mpesa|safaricom|exe|exec|cmd|sql|query/i

export const checkAddress = (address: string) =>
  URL.canParse(address) && !REFUSED.test(address) ? Effect.void : refuse(400, "400.003.02", "Bad Request - Invalid URL")

/** Callbacks go to the address that the control port was given, with the last part of the address in the request. */
export const lastPart = (address: string): string => address.split("/").at(-1) ?? ""

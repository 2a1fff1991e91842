import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Country } from "../../domain/Corridor.ts"
import { Currency } from "../../domain/Currency.ts"
import { SignedRequest } from "../SignedRequest.ts"
import { AskedAmount, CollectionRecord, Enveloped, Metadata, Narration, text, WebUrl } from "./Wire.ts"

export const MomoSource = Schema.Struct({
  type: Schema.Literal("momo"),
  msisdn: text(32),
  network: text(32),
  country: Schema.optionalKey(Country)
})

/** Who pays. Only mobile money needs a source; for bank and card the payer enters everything at the provider. */
export const Source = Schema.Union([
  MomoSource,
  Schema.Struct({ type: Schema.Literal("bank"), country: Schema.optionalKey(Country) }),
  Schema.Struct({ type: Schema.Literal("card"), country: Schema.optionalKey(Country) })
])

const detail = Schema.optionalKey(text(128))
/** For the provider's records only: passed through and not stored. */
export const Payer = Schema.Struct({ first_name: detail, last_name: detail, email: detail, phone: detail, external_id: detail })

/** The id of a code that was sent, and the code that the payer typed. */
export const Otp = Schema.Struct({ pin_id: text(128), pin: text(32) })

/** `POST /v1/collections` (contract COL-1 to COL-7). */
export const CollectionBody = Schema.Struct({
  amount_minor: AskedAmount,
  currency: Currency,
  country: Country,
  method: Schema.Literals(["momo", "bank", "card"]),
  source: Schema.optionalKey(Source),
  redirect_url: Schema.optionalKey(WebUrl),
  narration: Schema.optionalKey(Narration),
  metadata: Schema.optionalKey(Metadata),
  payer: Schema.optionalKey(Payer),
  /** The same as `payer`; not both. */
  customer: Schema.optionalKey(Payer),
  otp: Schema.optionalKey(Otp)
})

/** `POST /v1/collections/{reference}/authorize`: the code in exactly one of its three forms, two of them legacy. */
export const AuthorizeBody = Schema.Struct({
  authorization: Schema.optionalKey(Schema.Struct({ type: Schema.Literal("otp"), otp: Otp })),
  otp: Schema.optionalKey(Otp),
  pin_id: Schema.optionalKey(Otp.fields.pin_id),
  pin: Schema.optionalKey(Otp.fields.pin),
  source: MomoSource
})

/** `POST /v1/collections/otp` */
export const CodeBody = Schema.Struct({ country: Country, source: MomoSource })
export const CodeRecord = Schema.Struct({
  pin_id: Schema.String,
  message: Schema.String,
  masked_msisdn: Schema.String,
  expires_at: Schema.String
})

export class CollectionsApi extends HttpApiGroup.make("collections")
  .add(
    HttpApiEndpoint.post("create", "/v1/collections", {
      payload: CollectionBody,
      success: Enveloped(CollectionRecord).pipe(HttpApiSchema.status(201))
    }),
    HttpApiEndpoint.post("authorize", "/v1/collections/:reference/authorize", {
      params: { reference: Schema.String },
      payload: AuthorizeBody,
      success: Enveloped(CollectionRecord)
    }),
    HttpApiEndpoint.post("sendCode", "/v1/collections/otp", {
      payload: CodeBody,
      success: Enveloped(CodeRecord).pipe(HttpApiSchema.status(201))
    }),
    HttpApiEndpoint.get("find", "/v1/collections/:reference", {
      params: { reference: Schema.String },
      success: Enveloped(CollectionRecord)
    })
  )
  .middleware(SignedRequest) {}

/** `POST /v1/refunds`: the body is checked, and every refund is refused. */
export const RefundBody = Schema.Struct({
  original_reference: text(128),
  amount_minor: Schema.optionalKey(AskedAmount),
  reason: Schema.optionalKey(text(1024))
})

/** There is no successful response. */
export class RefundsApi extends HttpApiGroup.make("refunds")
  .add(HttpApiEndpoint.post("create", "/v1/refunds", { payload: RefundBody, success: Schema.Never }))
  .middleware(SignedRequest) {}

import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Country } from "../../domain/Corridor.ts"
import { Currency } from "../../domain/Currency.ts"
import { described, optional } from "../../domain/Description.ts"
import { errors, FROM_RECORDS, group, needs, operation } from "./Operation.ts"
import { CollectionSchema } from "./Records.ts"
import { SignedRequest } from "./SignedRequest.ts"
import { AskedAmount, Enveloped, Metadata, Narration, Timestamp, text, WebUrl } from "./Wire.ts"

const sourceCountry = optional(Country, "The payer's country; the request's `country` if left out")

const MomoSource = Schema.Struct({
  type: described(Schema.Literal("momo"), "Always `momo`"),
  msisdn: described(
    text(32),
    "The payer's number with its country's prefix, such as 256772123456; a `+` and spaces are accepted"
  ),
  network: described(text(32), "A network that the corridor lists, in any letter case"),
  country: sourceCountry
}).annotate({ identifier: "MomoSource", description: "A payer with mobile money" })

const BankSource = Schema.Struct({ type: described(Schema.Literal("bank"), "Always `bank`"), country: sourceCountry }).annotate({
  identifier: "BankSource",
  description: "A payer with a bank account, who enters everything at the provider"
})

const CardSource = Schema.Struct({ type: described(Schema.Literal("card"), "Always `card`"), country: sourceCountry }).annotate({
  identifier: "CardSource",
  description: "A payer with a card, who enters everything at the provider. Never send card data"
})

/** The payer. Only mobile money needs a source; for bank and card the payer enters the details at the provider. */
export const Source = Schema.Union([MomoSource, BankSource, CardSource]).annotate({
  identifier: "Source",
  description: "Who pays. `type` is the same as the request's `method`"
})

const detail = (description: string) => optional(text(128), description)
/** Only passed on to the provider; not stored. */
export const Payer = Schema.Struct({
  first_name: detail("The payer's first name"),
  last_name: detail("The payer's last name"),
  email: detail("The payer's email address"),
  phone: detail("The payer's phone number"),
  external_id: detail("Your own name for the payer")
}).annotate({ identifier: "Payer", description: "Details for the provider's records only: passed on and not stored" })

/** The id of a code that was sent, and the code that the payer entered. */
const Otp = Schema.Struct({
  pin_id: described(text(128), "The id of the code that was sent"),
  pin: described(text(32), "The code that the payer typed")
}).annotate({ identifier: "Otp", description: "A one-time code that the payer got and typed" })

const CollectionMethod = Schema.Literals(["momo", "bank", "card"]).annotate({
  identifier: "CollectionMethod",
  description: "How a payer pays"
})

/** `POST /v1/collections` (contract COL-1 to COL-7). */
export const CollectionBody = Schema.Struct({
  amount_minor: described(AskedAmount, "What to charge, in minor units of `currency`"),
  currency: described(Currency, "The currency that the payer is charged in and your float is credited in"),
  country: described(Country, "The country of the corridor"),
  method: CollectionMethod,
  source: optional(Source, "Who pays; required for `momo`"),
  redirect_url: optional(
    WebUrl,
    "Where the payer goes on after the provider's page, http or https; required for GHS and for `bank` and `card`"
  ),
  narration: optional(Narration, "What the payer reads about the charge, where the provider shows it"),
  metadata: Schema.optionalKey(Metadata),
  payer: Schema.optionalKey(Payer),
  customer: optional(Payer, "The same as `payer`; send one of the two"),
  otp: optional(Otp, "A code that you had sent before; if left out where a code is needed, one is sent")
}).annotate({ identifier: "CreateCollectionRequest", description: "A charge of a payer" })

const Authorization = Schema.Struct({ type: described(Schema.Literal("otp"), "Always `otp`"), otp: Otp }).annotate({
  identifier: "Authorization",
  description: "The payer's consent: the code that was sent"
})

/** `POST /v1/collections/{reference}/authorize`: the code in exactly one of three forms, two of which are legacy. */
export const AuthorizeBody = Schema.Struct({
  authorization: optional(Authorization, "The code. Required, unless one of the older forms is used"),
  otp: optional(Otp, "An older form of `authorization`; still accepted"),
  pin_id: optional(Otp.fields.pin_id, "An older form of `authorization`, with `pin`; still accepted"),
  pin: optional(Otp.fields.pin, "An older form of `authorization`, with `pin_id`; still accepted"),
  source: described(MomoSource, "The payer once more: the last four digits must be those of the collection")
}).annotate({ identifier: "AuthorizeCollectionRequest", description: "The payer's code" })

/** `POST /v1/collections/otp` */
export const CodeBody = Schema.Struct({
  country: described(Country, "The country of the corridor"),
  source: described(MomoSource, "Who gets the code")
}).annotate({ identifier: "SendCodeRequest", description: "Who gets a code" })

const CodeRecord = Schema.Struct({
  pin_id: described(Schema.String, "The id of the code; send it back with the code that the payer types"),
  message: described(Schema.String, "What to tell the payer"),
  masked_msisdn: described(Schema.String, "The number that got the code, masked but for its last four digits (`••••1234`)"),
  expires_at: described(Timestamp, "Until when the code can be used")
}).annotate({ identifier: "SentCode", description: "A code that was sent to a payer" })

const charge = [
  ...errors.route,
  "tenant_frozen",
  ...errors.amountLimits,
  ...errors.party,
  "duplicate_charge_in_flight",
  ...errors.counted,
  "otp_incorrect",
  "charge_rejected_by_provider",
  "provider_error",
  ...errors.unknown
] as const

export class CollectionsApi extends HttpApiGroup.make("collections")
  .add(
    HttpApiEndpoint.post("create", "/v1/collections", {
      payload: CollectionBody,
      success: Enveloped(CollectionSchema).pipe(HttpApiSchema.status(201))
    }).annotateMerge(
      operation(
        "Create a collection",
        `Charges a payer. The first answer is normally \`pending\`; the outcome comes by webhook or by polling. With \`requires_action\` the payer has to do something first: see \`next_action\`. A charge of a number that was charged in the last 15 minutes is refused with \`duplicate_charge_in_flight\`, unless that charge surely failed or expired. ${needs("collections")}`,
        { idempotencyKey: "required", errors: [...errors.keyed, ...errors.amounts, ...charge] }
      )
    ),
    HttpApiEndpoint.post("authorize", "/v1/collections/:reference/authorize", {
      params: { reference: described(Schema.String, "The collection's reference") },
      payload: AuthorizeBody,
      success: Enveloped(CollectionSchema)
    }).annotateMerge(
      operation(
        "Authorize a collection",
        "Checks the code that the payer typed, and places the charge. A wrong code leaves the collection as it is: ask again. Amount, currency and country are those of the collection.",
        {
          idempotencyKey: "optional",
          errors: ["not_found", "idempotency_key_reused", "request_in_progress", ...errors.amounts, ...charge],
          responseHeaders: { Deprecation: "`true` where the body was not wrapped in `authorization`" }
        }
      )
    ),
    HttpApiEndpoint.post("sendCode", "/v1/collections/otp", {
      payload: CodeBody,
      success: Enveloped(CodeRecord).pipe(HttpApiSchema.status(201))
    }).annotateMerge(
      operation(
        "Send a one-time code",
        `Texts the payer a code, which you then send with a collection as \`otp\`. At most 3 in 10 minutes for one number. ${needs("collections")}`,
        {
          errors: [...errors.route, "tenant_frozen", ...errors.party, "provider_error", "provider_capability_unsupported"]
        }
      )
    ),
    HttpApiEndpoint.get("find", "/v1/collections/:reference", {
      params: { reference: described(Schema.String, "The collection's reference") },
      success: Enveloped(CollectionSchema)
    }).annotateMerge(operation("Get a collection", `Reads one collection. ${FROM_RECORDS}`, { errors: ["not_found"] }))
  )
  .annotateMerge(group("Collections", "Money in: charge a payer by mobile money, bank or card."))
  .middleware(SignedRequest) {}

/** `POST /v1/refunds`: the body is validated, and every refund is refused. */
export const RefundBody = Schema.Struct({
  original_reference: described(text(128), "The collection's reference"),
  amount_minor: optional(AskedAmount, "A part of the collection, in minor units of its currency; checked and not used"),
  reason: optional(text(1024), "Why; checked and not used")
}).annotate({ identifier: "RefundRequest", description: "A refund of a collection. No provider offers it" })

/** It has no successful response. */
export class RefundsApi extends HttpApiGroup.make("refunds")
  .add(
    HttpApiEndpoint.post("create", "/v1/refunds", { payload: RefundBody, success: Schema.Never }).annotateMerge(
      operation(
        "Refund a collection (not offered)",
        "Always answers 501 `provider_capability_unsupported`, once the body is right. Nothing moves. To pay a payer back, create a payout with `refund_of`.",
        { errors: ["provider_capability_unsupported", "inexact_amount"] }
      )
    )
  )
  .annotateMerge(
    group("Refunds", "Not offered by any provider yet. A payout with `refund_of` pays a payer back from your float.")
  )
  .middleware(SignedRequest) {}

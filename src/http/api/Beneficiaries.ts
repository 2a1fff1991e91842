import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Currency } from "../../domain/Currency.ts"
import { pageOf, pageQuery } from "../Page.ts"
import { SignedRequest } from "../SignedRequest.ts"
import { Enveloped } from "./Wire.ts"

/** A saved recipient, masked (contract BEN-2). */
export const BeneficiaryRecord = Schema.Struct({
  id: Schema.String,
  type: Schema.Literals(["momo", "bank", "wallet"]),
  country: Schema.String,
  currency: Currency,
  network: Schema.NullOr(Schema.String),
  bank_code: Schema.NullOr(Schema.String),
  bank_name: Schema.NullOr(Schema.String),
  account_name: Schema.NullOr(Schema.String),
  masked_destination: Schema.String,
  is_test_mode: Schema.Boolean,
  created_at: Schema.String,
  last_used_at: Schema.String
})

export class BeneficiariesApi extends HttpApiGroup.make("beneficiaries")
  .add(
    HttpApiEndpoint.get("list", "/v1/beneficiaries", {
      query: pageQuery,
      success: Enveloped(pageOf(BeneficiaryRecord))
    }),
    HttpApiEndpoint.get("find", "/v1/beneficiaries/:id", {
      params: { id: Schema.String },
      success: Enveloped(BeneficiaryRecord)
    }),
    HttpApiEndpoint.delete("purge", "/v1/beneficiaries", {
      success: Enveloped(Schema.Struct({ purged: Schema.Int }))
    })
  )
  .middleware(SignedRequest) {}

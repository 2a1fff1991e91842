import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { SignedRequest } from "../SignedRequest.ts"
import { AskedAmount, text } from "./Wire.ts"

/** `POST /v1/refunds`: what is asked for is checked, and refused all the same. */
export const RefundBody = Schema.Struct({
  original_reference: text(128),
  amount_minor: Schema.optionalKey(AskedAmount),
  reason: Schema.optionalKey(text(1024))
})

/** There is no successful answer. */
export class RefundsApi extends HttpApiGroup.make("refunds")
  .add(HttpApiEndpoint.post("create", "/v1/refunds", { payload: RefundBody, success: Schema.Never }))
  .middleware(SignedRequest) {}

import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Currency } from "../../domain/Currency.ts"
import { SignedRequest } from "../SignedRequest.ts"
import { Amount, Enveloped } from "./Wire.ts"

/** One wallet of the pool that all tenants share; it is nobody's float. */
export const Balance = Schema.Struct({
  provider: Schema.String,
  currency: Currency,
  available_minor: Amount,
  pending_minor: Schema.NullOr(Amount),
  as_of: Schema.String
})

export class BalancesApi extends HttpApiGroup.make("balances")
  .add(HttpApiEndpoint.get("list", "/v1/balances", { success: Enveloped(Schema.Array(Balance)) }))
  .middleware(SignedRequest) {}

/** A float position (contract FLOAT-1). */
export const Position = Schema.Struct({
  currency: Currency,
  available_minor: Amount,
  reserved_minor: Amount,
  collected_minor: Amount,
  paid_out_minor: Amount,
  provider_fees_minor: Amount
})

export class FloatApi extends HttpApiGroup.make("float")
  .add(HttpApiEndpoint.get("positions", "/v1/float", { success: Enveloped(Schema.Array(Position)) }))
  .middleware(SignedRequest) {}

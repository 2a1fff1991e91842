import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Availability, CorridorKey, Country, CustomerAction, Direction, Method } from "../../domain/Corridor.ts"
import { Currency } from "../../domain/Currency.ts"
import { Capability } from "../../domain/Tenant.ts"
import { SignedRequest } from "../SignedRequest.ts"
import { Amount, Enveloped, text } from "./Wire.ts"

/** A bank that can be paid: `code` is what a payout sends as `destination.bank_code`. */
export const Bank = Schema.Struct({ code: Schema.String, name: Schema.String, country: Country, currency: Currency })

/** `POST /v1/reference/resolve-bank-account`. */
export const ResolveBody = Schema.Struct({ country: Country, bank_code: text(32), account_number: text(64) })

/** The holder of an account, for the tenant to confirm. A payout resolves the name again. */
export const ResolvedAccount = Schema.Struct({
  account_name: Schema.String,
  bank_code: Schema.String,
  country: Country,
  masked_account_number: Schema.String
})

/** A corridor row (contract COR-5, COR-6). Only `active` refuses; `availability` is advice. */
export const CorridorRow = Schema.Struct({
  ...CorridorKey.fields,
  active: Schema.Boolean,
  provider: Schema.String,
  networks: Schema.Array(Schema.String),
  minimum_minor: Schema.NullOr(Amount),
  maximum_minor: Schema.NullOr(Amount),
  exponent: Schema.Literals([0, 2]),
  customer_action: CustomerAction,
  requires_redirect_url: Schema.Boolean,
  requires_msisdn: Schema.Boolean,
  destination_currencies: Schema.Array(Currency),
  availability: Availability,
  inactive_reason: Schema.NullOr(Schema.String),
  updated_at: Schema.String
})

/** `GET /v1/reference/corridors`: only the rows that have all of these. */
export const corridorQuery = {
  country: Schema.optionalKey(Country),
  currency: Schema.optionalKey(Currency),
  direction: Schema.optionalKey(Direction),
  method: Schema.optionalKey(Method),
  provider: Schema.optionalKey(Schema.String),
  active: Schema.optionalKey(Schema.Literals(["true", "false"])),
  availability: Schema.optionalKey(Availability)
}

/** A country in which the provider delivers payouts. */
export const ServedCountry = Schema.Struct({
  country: Schema.String,
  name: Schema.String,
  phone_prefix: Schema.String,
  currencies: Schema.Array(Currency),
  methods: Schema.Array(Schema.Literals(["momo", "bank", "wallet"]))
})

export class ReferenceApi extends HttpApiGroup.make("reference")
  .add(
    HttpApiEndpoint.get("banks", "/v1/reference/banks/:country", {
      params: { country: Country },
      success: Enveloped(Schema.Array(Bank))
    }),
    HttpApiEndpoint.post("resolve", "/v1/reference/resolve-bank-account", {
      payload: ResolveBody,
      success: Enveloped(ResolvedAccount)
    }),
    HttpApiEndpoint.get("corridors", "/v1/reference/corridors", {
      query: corridorQuery,
      success: Enveloped(Schema.Array(CorridorRow))
    }),
    HttpApiEndpoint.get("countries", "/v1/reference/countries", { success: Enveloped(Schema.Array(ServedCountry)) })
  )
  .middleware(SignedRequest) {}

/** A capability of the tenant at a provider. `reason` is there where it is not supported (contract CAP-1, CAP-2). */
export const CapabilityRow = Schema.Struct({
  capability: Capability,
  provider: Schema.String,
  supported: Schema.Boolean,
  reason: Schema.optionalKey(Schema.Literals(["not_permitted", "provider_not_supported", "refund_orchestration_not_implemented"]))
})

export class CapabilitiesApi extends HttpApiGroup.make("capabilities")
  .add(HttpApiEndpoint.get("list", "/v1/capabilities", { success: Enveloped(Schema.Array(CapabilityRow)) }))
  .middleware(SignedRequest) {}

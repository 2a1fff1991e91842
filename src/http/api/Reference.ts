import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Availability, CorridorKey, Country, CustomerAction, Direction, Method } from "../../domain/Corridor.ts"
import { Currency } from "../../domain/Currency.ts"
import { described, optional } from "../../domain/Description.ts"
import { Capability } from "../../domain/Tenant.ts"
import { limitsEndpoint } from "./Limits.ts"
import { errors, group, NEEDS_NOTHING, needs, operation } from "./Operation.ts"
import { Flag } from "./Page.ts"
import { PayoutMethod } from "./Payouts.ts"
import { SignedRequest } from "./SignedRequest.ts"
import { Amount, Enveloped, Timestamp, text } from "./Wire.ts"

/** A bank that can be paid: `code` is what a payout sends as `destination.bank_code`. */
const Bank = Schema.Struct({
  code: described(Schema.String, "What a payout sends as `destination.bank_code`"),
  name: described(Schema.String, "The bank's name"),
  country: Country,
  currency: Currency
}).annotate({ identifier: "Bank", description: "A bank that can be paid" })
const Banks = Schema.Array(Bank).annotate({ identifier: "Banks", description: "The banks that can be paid" })

/** A branch of a bank: `code` is what a payout sends as `destination.branch_code`. */
const BankBranch = Schema.Struct({
  code: described(Schema.String, "What a payout sends as `destination.branch_code`"),
  name: described(Schema.String, "The branch's name"),
  bank_code: described(Schema.String, "The bank's code"),
  country: Country
}).annotate({ identifier: "BankBranch", description: "A branch of a bank that is paid through it" })
const BankBranches = Schema.Array(BankBranch).annotate({
  identifier: "BankBranches",
  description: "The branches of a bank; empty for a bank that is not listed, and where a payout names no branch"
})

/** `POST /v1/reference/resolve-bank-account`. */
export const ResolveBody = Schema.Struct({
  country: Country,
  bank_code: described(text(32), "A code from `GET /v1/reference/banks/{country}`"),
  account_number: described(text(64), "The account's number")
}).annotate({ identifier: "ResolveBankAccountRequest", description: "A bank account to look up" })

/** The holder of an account, for the tenant to confirm. A payout resolves the name again. */
const ResolvedAccount = Schema.Struct({
  account_name: described(Schema.String, "The holder's name"),
  bank_code: described(Schema.String, "The bank's code"),
  country: Country,
  masked_account_number: described(Schema.String, "The account's number, masked but for its end (`••••1234`)")
}).annotate({
  identifier: "ResolvedBankAccount",
  description: "The holder of an account, for you to confirm. A payout looks the name up again"
})

/** A corridor row (contract COR-5, COR-6). Only an inactive row is refused; `availability` is advisory. */
const CorridorRow = Schema.Struct({
  ...CorridorKey.fields,
  active: described(Schema.Boolean, "False where everything is refused with `corridor_unsupported`; it can change at any time"),
  provider: described(Schema.String, "The provider that is tried first"),
  networks: described(Schema.Array(Schema.String), "The mobile networks that it serves; empty where there are none"),
  minimum_minor: described(Schema.NullOr(Amount), "The smallest amount, in minor units of `currency`; null where there is none"),
  maximum_minor: described(Schema.NullOr(Amount), "The largest amount, in minor units of `currency`; null where there is none"),
  exponent: described(Schema.Literals([0, 2]), "How many decimals `currency` has: 10^exponent minor units make one unit"),
  customer_action: CustomerAction,
  requires_redirect_url: described(Schema.Boolean, "True where a collection needs `redirect_url`"),
  requires_msisdn: described(Schema.Boolean, "True where a bank payout needs `destination.msisdn`"),
  requires_name: described(Schema.Boolean, "True where a mobile-money payout needs `destination.name`"),
  requires_branch: described(Schema.Boolean, "True where a bank payout needs `destination.branch_code`"),
  requires_sender: described(
    Schema.Boolean,
    "True where your payouts are refused until your operator has said who pays: your name, country, number and address"
  ),
  destination_currencies: described(
    Schema.Array(Currency),
    "What a payout from `currency` can be paid in; empty for collections"
  ),
  availability: Availability,
  inactive_reason: described(Schema.NullOr(Schema.String), "Why it is not active; null where it is"),
  updated_at: described(Timestamp, "When the row last changed")
}).annotate({
  identifier: "Corridor",
  description: "A way for money: country, currency, direction and method. Only `active` refuses; `availability` is advice"
})
const Corridors = Schema.Array(CorridorRow).annotate({ identifier: "Corridors", description: "The corridors, active or not" })

/** `GET /v1/reference/corridors`: only the rows that match all of these. */
const corridorQuery = {
  country: optional(Country, "Only this country"),
  currency: optional(Currency, "Only this currency"),
  direction: optional(Direction, "Only this direction"),
  method: optional(Method, "Only this method"),
  provider: optional(Schema.String, "Only this provider"),
  active: optional(Flag, "Only those that are active, or only those that are not"),
  availability: optional(Availability, "Only those that work as well as this")
}

/** A country in which the provider delivers payouts. */
const ServedCountry = Schema.Struct({
  country: described(Schema.String, "Two capital letters (ISO 3166-1)"),
  name: described(Schema.String, "The country's name"),
  phone_prefix: described(Schema.String, "What its phone numbers begin with, such as 256"),
  currencies: described(Schema.Array(Currency), "What can be paid there"),
  methods: described(Schema.Array(PayoutMethod), "How it can be paid there")
}).annotate({ identifier: "ServedCountry", description: "A country in which the provider delivers payouts" })
const ServedCountries = Schema.Array(ServedCountry).annotate({
  identifier: "ServedCountries",
  description: "The countries that the provider serves"
})

const listErrors = [...errors.providerRead, "not_found", "validation_failed", "corridor_unsupported"] as const

export class ReferenceApi extends HttpApiGroup.make("reference")
  .add(
    HttpApiEndpoint.get("banks", "/v1/reference/banks/:country", {
      params: { country: described(Country, "The country of the banks") },
      success: Enveloped(Banks)
    }).annotateMerge(
      operation(
        "List banks",
        `The banks of a country that can be paid, asked of the provider, without inactive ones. ${needs("reference_data")}`,
        { errors: listErrors }
      )
    ),
    HttpApiEndpoint.get("branches", "/v1/reference/banks/:country/:bank_code/branches", {
      params: {
        country: described(Country, "The country of the bank"),
        bank_code: described(Schema.String, "A code from `GET /v1/reference/banks/{country}`")
      },
      success: Enveloped(BankBranches)
    }).annotateMerge(
      operation(
        "List a bank's branches",
        `The branches of a bank, as the provider listed them at most a day ago. Ask where the corridor says \`requires_branch\`, and let a person choose: no branch is ever chosen for you. ${needs("reference_data")}`,
        { errors: listErrors }
      )
    ),
    HttpApiEndpoint.post("resolve", "/v1/reference/resolve-bank-account", {
      payload: ResolveBody,
      success: Enveloped(ResolvedAccount)
    }).annotateMerge(
      operation(
        "Resolve a bank account",
        `Finds the holder of a bank account, for you to confirm: a payout looks the name up again. At most 30 a minute for a key. ${needs("bank_resolution")}`,
        { errors: [...errors.providerRead, "bank_account_unresolvable", "corridor_unsupported"] }
      )
    ),
    HttpApiEndpoint.get("corridors", "/v1/reference/corridors", {
      query: corridorQuery,
      success: Enveloped(Corridors)
    }).annotateMerge(
      operation(
        "List corridors",
        `Which country, currency, direction and method go together, with limits and requirements; also those that are not active. ${NEEDS_NOTHING}`,
        { errors: ["validation_failed"] }
      )
    ),
    HttpApiEndpoint.get("countries", "/v1/reference/countries", { success: Enveloped(ServedCountries) }).annotateMerge(
      operation(
        "List countries",
        `Where the provider delivers payouts; it says nothing about collections. The provider is asked. ${needs("reference_data")}`,
        { errors: errors.providerRead }
      )
    )
  )
  .annotateMerge(group("Reference data", "Corridors, countries, banks and bank accounts."))
  .middleware(SignedRequest) {}

const UnsupportedReason = Schema.Literals([
  "not_permitted",
  "provider_not_supported",
  "refund_orchestration_not_implemented"
]).annotate({ identifier: "UnsupportedReason", description: "Why a capability is not supported" })

/** A capability of the tenant at a provider. `reason` is present when it is not supported (contract CAP-1, CAP-2). */
const CapabilityRow = Schema.Struct({
  capability: Capability,
  provider: described(Schema.String, "The provider that you are routed to first"),
  supported: described(Schema.Boolean, "Whether you may use it and the provider offers it"),
  reason: optional(UnsupportedReason, "Only where it is not supported"),
  requires_sender: optional(
    Schema.Literal(true),
    "Only in the row of `payouts`, where some active corridor refuses them until your operator has said who pays"
  )
}).annotate({ identifier: "Capability", description: "Something that you may do, or may not" })
const Capabilities = Schema.Array(CapabilityRow).annotate({
  identifier: "Capabilities",
  description: "All seven capabilities, always in the same order"
})

export class CapabilitiesApi extends HttpApiGroup.make("capabilities")
  .add(
    HttpApiEndpoint.get("list", "/v1/capabilities", { success: Enveloped(Capabilities) }).annotateMerge(
      operation(
        "List your capabilities",
        `What you may do and the provider offers, and why the rest is not supported. ${NEEDS_NOTHING}`
      )
    ),
    limitsEndpoint
  )
  .annotateMerge(group("Capabilities", "What you may do, and how much of it."))
  .middleware(SignedRequest) {}

import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Currency } from "../../domain/Currency.ts"
import { described } from "../../domain/Description.ts"
import { errors, group, NEEDS_NOTHING, needs, operation } from "./Operation.ts"
import { SignedRequest } from "./SignedRequest.ts"
import { statementEndpoint } from "./Statement.ts"
import { Amount, AskedAmount, Enveloped, Timestamp } from "./Wire.ts"

/** One of the provider wallets that all tenants share. It is not a tenant's float. */
const Balance = Schema.Struct({
  provider: described(Schema.String, "The provider that keeps the wallet"),
  currency: Currency,
  available_minor: described(Amount, "What the wallet can pay out, in minor units of `currency`"),
  pending_minor: described(
    Schema.NullOr(Amount),
    "What is on its way, in minor units of `currency`; null where the provider does not say"
  ),
  as_of: described(Timestamp, "When the provider was asked")
}).annotate({
  identifier: "Balance",
  description: "One wallet of the pool that all tenants share at a provider; it is not your float"
})

const Balances = Schema.Array(Balance).annotate({ identifier: "Balances", description: "Every wallet" })

export class BalancesApi extends HttpApiGroup.make("balances")
  .add(
    HttpApiEndpoint.get("list", "/v1/balances", { success: Enveloped(Balances) }).annotateMerge(
      operation(
        "Get the providers' balances",
        `The wallets at the providers, which all tenants share; they are not your float. The provider is asked. ${needs("balances")}`,
        { errors: errors.providerRead }
      )
    )
  )
  .annotateMerge(group("Provider balances", "The wallets at the providers, which all tenants share."))
  .middleware(SignedRequest) {}

/** A float position (contract FLOAT-1). */
const Position = Schema.Struct({
  currency: Currency,
  available_minor: described(Amount, "What a payout can draw from, in minor units of `currency`"),
  reserved_minor: described(
    Amount,
    "What payouts in flight hold, in minor units of `currency`; it leaves when they succeed and returns to `available_minor` when they fail"
  ),
  collected_minor: described(Amount, "What was ever collected, without fees, in minor units of `currency`"),
  paid_out_minor: described(Amount, "What was ever paid out, without fees, in minor units of `currency`"),
  provider_fees_minor: described(
    Amount,
    "The fees of a lifetime in both directions, in minor units of `currency`. `available_minor` is already without them: never subtract them again"
  ),
  credited_minor: described(Amount, "What the gateway's operators ever credited by hand, in minor units of `currency`"),
  debited_minor: described(Amount, "What the gateway's operators ever debited by hand, in minor units of `currency`"),
  fx_in_minor: described(Amount, "What exchanges ever brought into this currency, in its minor units"),
  fx_out_minor: described(Amount, "What exchanges ever took out of this currency, in its minor units"),
  returned_minor: described(Amount, "What ever came back of successful payouts, in minor units of `currency`"),
  owed_minor: described(
    Amount,
    "What you owe after a correction that your float did not cover, in minor units of `currency`; `available_minor` is 0 while it is not"
  )
}).annotate({ identifier: "FloatPosition", description: "Your own claim in one currency on the wallets that all tenants share" })

const Positions = Schema.Array(Position).annotate({
  identifier: "FloatPositions",
  description: "One position a currency that you hold; none where you hold no float"
})

/** `PUT /v1/float/alerts`: sets the alert of one currency. */
export const AlertBody = Schema.Struct({
  currency: described(Currency, "The float of this currency"),
  below_minor: described(
    Schema.NullOr(AskedAmount),
    "You get `float.low` when `available_minor` falls below this, in minor units of `currency`; null ends the alert"
  )
}).annotate({ identifier: "FloatAlertRequest", description: "The amount below which you want to know" })

const Alerts = Schema.Array(
  Schema.Struct({
    currency: described(Currency, "The float of this currency"),
    below_minor: described(Amount, "The amount that you set, in minor units of `currency`"),
    available_minor: described(Amount, "What is available now, in minor units of `currency`"),
    is_low: described(Schema.Boolean, "Whether that is less than the amount")
  }).annotate({ identifier: "FloatAlert", description: "The amount below which you want to know, of one currency" })
).annotate({ identifier: "FloatAlerts", description: "Your alerts, one a currency at most" })

export class FloatApi extends HttpApiGroup.make("float")
  .add(
    HttpApiEndpoint.get("positions", "/v1/float", { success: Enveloped(Positions) }).annotateMerge(
      operation(
        "Get your float",
        `Your own money, one position a currency. It is a report and reserves nothing: a payout checks for itself. ${NEEDS_NOTHING}`
      )
    ),
    statementEndpoint,
    HttpApiEndpoint.get("alerts", "/v1/float/alerts", { success: Enveloped(Alerts) }).annotateMerge(
      operation("Get your float alerts", `The amounts below which you get \`float.low\`, in the key's mode. ${NEEDS_NOTHING}`)
    ),
    HttpApiEndpoint.put("setAlert", "/v1/float/alerts", { payload: AlertBody, success: Enveloped(Alerts) }).annotateMerge(
      operation(
        "Set a float alert",
        `Your endpoint gets \`float.low\` within ten seconds after \`available_minor\` fell below the amount, if it asks for that event: once for each fall. Answers all your alerts. ${NEEDS_NOTHING}`,
        { errors: ["validation_failed", "unknown_currency", "inexact_amount"] }
      )
    )
  )
  .annotateMerge(group("Float", "Your own money at the gateway."))
  .middleware(SignedRequest) {}

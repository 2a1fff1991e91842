import { HttpApi } from "effect/http-api"
import { BalancesApi, FloatApi } from "./Balances.ts"
import { BeneficiariesApi } from "./Beneficiaries.ts"
import { CallbacksApi } from "./Callbacks.ts"
import { CollectionsApi, RefundsApi } from "./Collections.ts"
import { errorEnvelopeSchemas } from "./Errors.ts"
import { Event } from "./Events.ts"
import { FxApi } from "./Fx.ts"
import { ManualApi } from "./Manual.ts"
import { PayoutsApi } from "./Payouts.ts"
import { CapabilitiesApi, ReferenceApi } from "./Reference.ts"
import { DescriptionApi, DocsAssetsApi, HealthApi } from "./System.ts"
import { TransactionsApi } from "./Transactions.ts"
import { WebhooksApi } from "./Webhooks.ts"

/** Everything that the gateway answers to over HTTP. */
export class Api extends HttpApi.make("gateway")
  .add(
    CollectionsApi,
    PayoutsApi,
    TransactionsApi,
    FloatApi,
    BalancesApi,
    CapabilitiesApi,
    ReferenceApi,
    RefundsApi,
    FxApi,
    HealthApi,
    CallbacksApi,
    WebhooksApi,
    DescriptionApi,
    DocsAssetsApi,
    BeneficiariesApi,
    ManualApi
  )
  // What no endpoint names: an error is encoded by the envelope, an event by the domain.
  .annotate(HttpApi.AdditionalSchemas, [...errorEnvelopeSchemas, Event]) {}

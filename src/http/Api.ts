import { HttpApi } from "effect/http-api"
import { BalancesApi, FloatApi } from "./api/Balances.ts"
import { BeneficiariesApi } from "./api/Beneficiaries.ts"
import { CallbacksApi } from "./api/Callbacks.ts"
import { CollectionsApi, RefundsApi } from "./api/Collections.ts"
import { errorEnvelopeSchemas } from "./api/Errors.ts"
import { Event } from "./api/Events.ts"
import { FxApi } from "./api/Fx.ts"
import { ManualApi } from "./api/Manual.ts"
import { PayoutsApi } from "./api/Payouts.ts"
import { CapabilitiesApi, ReferenceApi } from "./api/Reference.ts"
import { DescriptionApi, DocsAssetsApi, HealthApi } from "./api/System.ts"
import { TransactionsApi } from "./api/Transactions.ts"
import { WebhooksApi } from "./api/Webhooks.ts"

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

import { HttpApi } from "effect/http-api"
import { BalancesApi } from "./api/Balances.ts"
import { BeneficiariesApi } from "./api/Beneficiaries.ts"
import { CallbacksApi } from "./api/Callbacks.ts"
import { CapabilitiesApi } from "./api/Capabilities.ts"
import { CollectionsApi } from "./api/Collections.ts"
import { DescriptionApi } from "./api/Description.ts"
import { FloatApi } from "./api/Float.ts"
import { FxApi } from "./api/Fx.ts"
import { HealthApi } from "./api/Health.ts"
import { PayoutsApi } from "./api/Payouts.ts"
import { ReferenceApi } from "./api/Reference.ts"
import { RefundsApi } from "./api/Refunds.ts"
import { TransactionsApi } from "./api/Transactions.ts"
import { WebhooksApi } from "./api/Webhooks.ts"

/** Everything that the gateway answers to over HTTP. */
export class Api extends HttpApi.make("gateway").add(
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
  BeneficiariesApi
) {}

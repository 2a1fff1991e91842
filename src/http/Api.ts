import { HttpApi } from "effect/http-api"
import { CallbacksApi } from "./api/Callbacks.ts"
import { CollectionsApi } from "./api/Collections.ts"
import { FloatApi } from "./api/Float.ts"
import { HealthApi } from "./api/Health.ts"
import { PayoutsApi } from "./api/Payouts.ts"
import { TransactionsApi } from "./api/Transactions.ts"

/** Everything that the gateway answers to over HTTP. */
export class Api extends HttpApi.make("gateway").add(
  CollectionsApi,
  PayoutsApi,
  TransactionsApi,
  FloatApi,
  HealthApi,
  CallbacksApi
) {}

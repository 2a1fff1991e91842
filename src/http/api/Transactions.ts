import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { SignedRequest } from "../SignedRequest.ts"
import { Enveloped, TransactionRecord } from "./Wire.ts"

export class TransactionsApi extends HttpApiGroup.make("transactions")
  .add(
    HttpApiEndpoint.get("find", "/v1/transactions/:id", {
      params: { id: Schema.String },
      success: Enveloped(TransactionRecord)
    })
  )
  .middleware(SignedRequest) {}

import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { pageOf } from "../Page.ts"
import { SignedRequest } from "../SignedRequest.ts"
import { transactionQuery } from "../TransactionQuery.ts"
import { CollectionRecord, Enveloped, PayoutRecord, TransactionRecord } from "./Wire.ts"

const raw = {
  raw_request: Schema.NullOr(Schema.String),
  raw_response: Schema.NullOr(Schema.String),
  provider_reference: Schema.NullOr(Schema.String)
}

/** `view=raw`: any tenant's transaction with its last money call, masked. It takes an admin key and an `X-Audit-Reason`. */
const RawRecord = Schema.Union([
  Schema.Struct({ ...CollectionRecord.fields, ...raw }),
  Schema.Struct({ ...PayoutRecord.fields, ...raw })
])

export class TransactionsApi extends HttpApiGroup.make("transactions")
  .add(
    HttpApiEndpoint.get("list", "/v1/transactions", {
      query: transactionQuery,
      success: Enveloped(pageOf(TransactionRecord))
    }),
    HttpApiEndpoint.get("find", "/v1/transactions/:id", {
      params: { id: Schema.String },
      query: { view: Schema.optionalKey(Schema.Literal("raw")) },
      success: Enveloped(Schema.Union([RawRecord, TransactionRecord]))
    })
  )
  .middleware(SignedRequest) {}

import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { described, optional } from "../../domain/Description.ts"
import { pageOf } from "./Page.ts"
import { CollectionSchema, PayoutSchema, TransactionSchema } from "./Records.ts"
import { SignedRequest } from "./SignedRequest.ts"
import { transactionQuery } from "./TransactionQuery.ts"
import { Enveloped } from "./Wire.ts"

const raw = {
  raw_request: described(Schema.NullOr(Schema.String), "The last money call to the provider as it was sent, masked"),
  raw_response: described(Schema.NullOr(Schema.String), "What the provider answered to it, masked"),
  provider_reference: described(Schema.NullOr(Schema.String), "The provider's own reference")
}

/** `view=raw`: any tenant's transaction with its last money call, masked. It takes an admin key and an `X-Audit-Reason`. */
const RawRecord = Schema.Union([
  Schema.Struct({ ...CollectionSchema.fields, ...raw }).annotate({
    identifier: "RawCollection",
    description: "A collection with its last call to the provider"
  }),
  Schema.Struct({ ...PayoutSchema.fields, ...raw }).annotate({
    identifier: "RawPayout",
    description: "A payout with its last call to the provider"
  })
]).annotate({ identifier: "RawTransaction", description: "What an admin key gets with `view=raw`" })

const ReadTransaction = Schema.Union([RawRecord, TransactionSchema]).annotate({
  identifier: "ReadTransaction",
  description: "The transaction; with `view=raw` also its last call to the provider"
})

export class TransactionsApi extends HttpApiGroup.make("transactions")
  .add(
    HttpApiEndpoint.get("list", "/v1/transactions", {
      query: transactionQuery,
      success: Enveloped(pageOf(TransactionSchema))
    }),
    HttpApiEndpoint.get("find", "/v1/transactions/:id", {
      params: { id: described(Schema.String, "The transaction's `id` or `reference`: they are the same") },
      query: { view: optional(Schema.Literal("raw"), "`raw` adds the last call to the provider; only with an admin key") },
      success: Enveloped(ReadTransaction)
    })
  )
  .middleware(SignedRequest) {}

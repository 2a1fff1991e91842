import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { described, optional } from "../../domain/Description.ts"
import { FROM_RECORDS, group, headerParameter, NEXT_PAGE, operation } from "./Operation.ts"
import { pageOf } from "./Page.ts"
import { CollectionSchema, PayoutSchema, TransactionSchema } from "./Records.ts"
import { SignedRequest } from "./SignedRequest.ts"
import { metadataFilter, transactionQuery } from "./TransactionQuery.ts"
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
    }).annotateMerge(
      operation(
        "List transactions",
        `Your collections and payouts of the key's mode, the newest first. ${NEXT_PAGE} A page may hold fewer items than \`limit\`, or none, and still have a \`next_cursor\`. Walking skips and repeats none while new ones arrive. A filter or value that the list does not know is \`validation_failed\`.`,
        { parameters: [metadataFilter], errors: ["validation_failed"] }
      )
    ),
    HttpApiEndpoint.get("find", "/v1/transactions/:id", {
      params: { id: described(Schema.String, "The transaction's `id` or `reference`: they are the same") },
      query: { view: optional(Schema.Literal("raw"), "`raw` adds the last call to the provider; only with an admin key") },
      success: Enveloped(ReadTransaction)
    }).annotateMerge(
      operation(
        "Get a transaction",
        `Reads a collection or a payout without knowing which. ${FROM_RECORDS} \`view=raw\` is for admin keys only: a tenant's key gets \`capability_not_allowed\`.`,
        {
          errors: ["not_found", "capability_not_allowed", "validation_failed", "malformed_request"],
          parameters: [headerParameter("X-Audit-Reason", "Why the raw view is read; required with `view=raw`", false)]
        }
      )
    )
  )
  .annotateMerge(group("Transactions", "Collections and payouts together: find one, or list them."))
  .middleware(SignedRequest) {}

import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Country } from "../../domain/Corridor.ts"
import { described, optional } from "../../domain/Description.ts"
import { FROM_RECORDS, group, headerParameter, NEXT_PAGE, operation } from "./Operation.ts"
import { Cursor, MAX_PAGE, pageOf } from "./Page.ts"
import { CollectionSchema, PayoutSchema, TransactionSchema } from "./Records.ts"
import { SignedRequest } from "./SignedRequest.ts"
import { metadataFilter, metadataNames, ORDERS, PAGES, TRANSACTIONS_A_PAGE, transactionQuery } from "./TransactionQuery.ts"
import { Enveloped, Metadata, text } from "./Wire.ts"

const raw = {
  raw_request: described(Schema.NullOr(Schema.String), "The last money call to the provider as it was sent, masked"),
  raw_response: described(Schema.NullOr(Schema.String), "What the provider answered to it, masked"),
  provider_reference: described(Schema.NullOr(Schema.String), "The provider's own reference")
}

/** `view=raw`: any tenant's transaction with its last money call, masked. Requires an admin key and an `X-Audit-Reason`. */
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

/** How many metadata members a search may use. */
export const MOST_MEMBERS = 5
const limit = { expected: `a whole number from 1 to ${MAX_PAGE}` }

/** `POST /v1/transactions/search` (contract TXN-13). The search term is in the body, so that it appears in no log and no URL. */
export const SearchBody = Schema.Struct({
  msisdn: optional(
    text(40),
    "The payer's or recipient's whole number, as people write it: `+256 772 123 456`, or `0772 123 456` with `country`"
  ),
  country: optional(Country, "The country of a `msisdn` that is written without its prefix"),
  account_number: optional(text(64), "The recipient's whole account number, at whichever bank; blanks and dashes do not count"),
  metadata: optional(
    Metadata,
    `1 to ${MOST_MEMBERS} members, each a text, a number or a boolean: those whose metadata has all of them, with exactly these texts`
  ),
  provider_receipt: optional(
    text(64),
    "The number in the operator's SMS; its case, and what stands between letters and digits, do not count"
  ),
  limit: optional(
    Schema.Number.check(Schema.isInt(limit), Schema.isBetween({ minimum: 1, maximum: MAX_PAGE }, limit)),
    `How many items a page has at most; ${TRANSACTIONS_A_PAGE} if left out`
  ),
  cursor: optional(Cursor, "Where to go on: the `next_cursor` of the page before, with the same body beside it")
}).annotate({
  identifier: "SearchTransactionsRequest",
  description: "What you know of a payment: exactly one of `msisdn`, `account_number`, `metadata` and `provider_receipt`"
})

export class TransactionsApi extends HttpApiGroup.make("transactions")
  .add(
    HttpApiEndpoint.get("list", "/v1/transactions", {
      query: transactionQuery,
      success: Enveloped(pageOf(TransactionSchema))
    }).annotateMerge(
      operation(
        "List transactions",
        `Your collections and payouts of the key's mode, the newest first. ${ORDERS} ${NEXT_PAGE} ${PAGES}`,
        { parameters: [metadataFilter], otherParameters: metadataNames, errors: ["validation_failed"] }
      )
    ),
    HttpApiEndpoint.post("search", "/v1/transactions/search", {
      payload: SearchBody,
      success: Enveloped(pageOf(TransactionSchema))
    }).annotateMerge(
      operation(
        "Search for transactions",
        `Your collections and payouts of the key's mode that a customer's number, account, receipt or a member of your metadata finds, the newest first, masked as everywhere. By a number or an account for 90 days after they began, because only a keyed hash of it is kept; later ones are not found by it, and are found by what else you know. ${NEXT_PAGE} A page may hold fewer items than \`limit\`, or none, and still have a \`next_cursor\`. Not found is an empty page. It needs no \`Idempotency-Key\`, counts as a read, and is limited by itself: 30 a minute for a key, and 60 a minute and 2,000 a day for all keys of a tenant in one mode.`,
        { errors: ["validation_failed", "malformed_request"] }
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

import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { transactionView } from "../../domain/View.ts"
import { orderOf, type RawTransaction } from "../../services/ports/Transactions.ts"
import { Records } from "../../services/Records.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { listRequest, listView } from "../api/TransactionQuery.ts"
import { searchBody } from "../body/SearchBody.ts"
import { withSignedBody } from "../body/SignedBody.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { auditReason } from "../edge/RequestHeaders.ts"
import { respond, respondAtLength } from "../edge/Response.ts"

/** The members for an admin key only (contract TXN-10). */
const rawView = ({ rawRequest, rawResponse, transaction }: RawTransaction) => ({
  ...transactionView(transaction),
  raw_request: rawRequest,
  raw_response: rawResponse,
  provider_reference: transaction.providerReference
})

export const transactionsHandlers = Effect.gen(function* () {
  const records = yield* Records
  return handlersOf("transactions", {
    list: ({ query }) =>
      withCaller((caller) =>
        Effect.gen(function* () {
          const { filter, page } = yield* Effect.fromResult(listRequest(query, yield* HttpServerRequest.ParsedSearchParams))
          return listView(yield* records.list(caller, filter, page), transactionView, orderOf(filter))
        })
      ).pipe(respondAtLength(200)),
    search: () =>
      withSignedBody(searchBody, (caller, { page, term }) =>
        Effect.map(records.search(caller, term, page), (found) => listView(found, transactionView))
      ),
    find: ({ params, query }) =>
      withCaller((caller, { rawHeaders }) =>
        query.view === undefined
          ? Effect.map(records.shown(caller, params.id, null), transactionView)
          : Effect.map(records.readRaw(caller, params.id, auditReason(rawHeaders)), rawView)
      ).pipe(respond(200))
  })
})

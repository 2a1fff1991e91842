import { Effect, Result } from "effect"
import { HttpServerRequest } from "effect/http"
import { exchangeView, quoteView } from "../../domain/Exchange.ts"
import type { Issue } from "../../domain/errors/Terminal.ts"
import { minor } from "../../domain/Money.ts"
import { Exchanges, type FxCommand, type FxQuery } from "../../services/exchanges/Exchanges.ts"
import { orderOf } from "../../services/ports/Transactions.ts"
import { FxExchangeBody, FxQuoteBody } from "../api/Fx.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { listRequest, listView } from "../api/TransactionQuery.ts"
import { type Body, type BodyError, invalid, issuesOf, makeDecoder, metadataWithinLimit } from "../body/Body.ts"
import { withSignedBody } from "../body/SignedBody.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { respond, respondAtLength } from "../edge/Response.ts"
import { Idempotent } from "../idempotency/Idempotent.ts"
import type { JsonTree } from "../json/StrictJson.ts"

/** Exchanges between currencies of the tenant's float: a quote, the exchange that takes it, and reading one. */
export const fxHandlers = Effect.gen(function* () {
  const exchanges = yield* Exchanges
  const idempotent = yield* Idempotent
  return handlersOf("fx", {
    quote: () => withSignedBody(fxQuoteBody, (caller, command) => Effect.map(exchanges.quote(caller, command), quoteView)),
    exchange: () =>
      idempotent.once({
        endpoint: "POST /v1/fx/exchange",
        decode: fxExchangeBody,
        run: (caller, command, { claim }) => exchanges.create(caller, command, claim)
      }),
    list: ({ query }) =>
      withCaller((caller) =>
        Effect.gen(function* () {
          const { filter, page } = yield* Effect.fromResult(listRequest(query, yield* HttpServerRequest.ParsedSearchParams))
          return listView(yield* exchanges.list(caller, filter, page), exchangeView, orderOf(filter))
        })
      ).pipe(respondAtLength(200)),
    find: ({ params }) =>
      withCaller((caller) => exchanges.find(caller, params.reference)).pipe(Effect.map(exchangeView), respond(200))
  })
})

const decodeQuote = makeDecoder(FxQuoteBody)
const decodeExchange = makeDecoder(FxExchangeBody)

/** The body of `POST /v1/fx/quote`. */
export const fxQuoteBody = (body: JsonTree): Result.Result<Body<FxQuery>, BodyError> =>
  Result.gen(function* () {
    const { ignored, wire } = yield* decodeQuote(body)
    const { destination_amount_minor: destination, source_amount_minor: source } = wire
    const fixed = source ?? destination
    const issues: ReadonlyArray<Issue> = [
      ...(wire.source_currency === wire.destination_currency
        ? [{ path: "destination_currency", message: "must be another currency than source_currency" }]
        : []),
      ...(fixed === undefined
        ? [{ path: "source_amount_minor", message: "is required, or destination_amount_minor in its place" }]
        : []),
      ...(source !== undefined && destination !== undefined
        ? [{ path: "destination_amount_minor", message: "must not be sent together with source_amount_minor" }]
        : [])
    ]
    if (fixed === undefined || issues.length > 0) return yield* invalid(issues)
    const command: FxQuery = {
      sourceCurrency: wire.source_currency,
      destinationCurrency: wire.destination_currency,
      fixed: source === undefined ? "destination" : "source",
      amount: minor(BigInt(fixed))
    }
    return { command, fingerprint: command, ignored }
  })

/** The body of `POST /v1/fx/exchange`. */
export const fxExchangeBody = (body: JsonTree): Result.Result<Body<FxCommand>, BodyError> =>
  Result.gen(function* () {
    const { ignored, tree, wire } = yield* decodeExchange(body)
    const metadata = metadataWithinLimit(tree)
    if (Result.isFailure(metadata)) return yield* invalid(issuesOf(metadata))
    const command: FxCommand = { quoteId: wire.quote_id, metadata: metadata.success.text }
    return { command, fingerprint: { ...command, metadata: metadata.success.tree }, ignored }
  })

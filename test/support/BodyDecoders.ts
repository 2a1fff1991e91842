import { Result } from "effect"
import type { ApiError } from "../../src/domain/errors/ApiError.ts"
import { readTree } from "../../src/http/body/Body.ts"
import { authorizeBody, codeBody, collectionBody } from "../../src/http/body/CollectionBody.ts"
import { searchBody } from "../../src/http/body/SearchBody.ts"
import { alertBody } from "../../src/http/handlers/Balances.ts"
import { refundBody } from "../../src/http/handlers/Collections.ts"
import { fxExchangeBody, fxQuoteBody } from "../../src/http/handlers/Fx.ts"
import { payoutBody, quoteBody, quotesBody } from "../../src/http/handlers/Payouts.ts"
import { resolveBody } from "../../src/http/handlers/Reference.ts"
import { endpointBody, recoverBody } from "../../src/http/handlers/Webhooks.ts"
import type { JsonTree } from "../../src/http/json/StrictJson.ts"

/** Every endpoint that reads a body, and how. */
const decoders: Readonly<Record<string, (tree: JsonTree) => Result.Result<unknown, ApiError>>> = {
  "POST /v1/collections": collectionBody,
  "POST /v1/collections/{reference}/authorize": authorizeBody("0123456789ABCDEFGHJKMNPQRS"),
  "POST /v1/collections/otp": codeBody,
  "POST /v1/payouts": payoutBody,
  "POST /v1/payouts/quote": quoteBody,
  "POST /v1/payouts/quotes": quotesBody,
  "POST /v1/fx/quote": fxQuoteBody,
  "POST /v1/fx/exchange": fxExchangeBody,
  "POST /v1/refunds": refundBody,
  "POST /v1/reference/resolve-bank-account": resolveBody,
  "POST /v1/transactions/search": searchBody,
  "PUT /v1/float/alerts": alertBody,
  "PUT /v1/webhooks/endpoint": endpointBody,
  "PUT /v1/webhooks/endpoints/{name}": endpointBody,
  "POST /v1/webhooks/recover": recoverBody
}
export const bodyRoutes = Object.keys(decoders)

/** What is refused of a body, from its bytes on; null where it is a command. */
export const refusalOf = (route: string, body: string): ApiError | null => {
  const decode = decoders[route]
  if (decode === undefined) throw new Error(`${route} reads no body`)
  return Result.match(Result.flatMap(readTree(Buffer.from(body)), decode), {
    onFailure: (refused): ApiError | null => refused,
    onSuccess: () => null
  })
}

/** The issues of a refusal as "path: message", in their order. */
export const issuesOf = (route: string, body: unknown): ReadonlyArray<string> => {
  const refused = refusalOf(route, typeof body === "string" ? body : JSON.stringify(body))
  return refused !== null && "issues" in refused ? refused.issues.map(({ message, path }) => `${path}: ${message}`) : []
}

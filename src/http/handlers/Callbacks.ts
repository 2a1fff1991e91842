import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { pathOf } from "../../domain/StringToSign.ts"
import { ProviderCallbacks } from "../../services/settlement/ProviderCallbacks.ts"
import { CurrentRequest } from "../api/SignedRequest.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { respond } from "../edge/Response.ts"

/** Passes a provider's callback on, byte for byte as it was received. */
export const callbacksHandlers = Effect.gen(function* () {
  const ingress = yield* ProviderCallbacks
  const receive = ({ params, request }: Incoming) =>
    Effect.flatMap(CurrentRequest, ({ body }) =>
      ingress.receive(params.provider, params.route_key, {
        method: request.method,
        path: pathOf(request.url),
        headers: request.headers,
        body
      })
    ).pipe(
      Effect.map((status) => ({ status })),
      respond(200)
    )
  return handlersOf("callbacks", { receive, receivePut: receive, receivePart: receive })
})

interface Incoming {
  readonly params: { readonly provider: string; readonly route_key: string }
  readonly request: HttpServerRequest.HttpServerRequest
}

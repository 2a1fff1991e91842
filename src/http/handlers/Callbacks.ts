import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Ingress } from "../../services/Ingress.ts"
import { answered } from "../Answer.ts"
import { Api } from "../Api.ts"
import { CurrentRequest } from "../CurrentRequest.ts"

export const CallbacksHandlers = HttpApiBuilder.group(
  Api,
  "callbacks",
  Effect.fnUntraced(function* (handlers) {
    const ingress = yield* Ingress
    return handlers.handleRaw("receive", ({ params, request }) =>
      Effect.flatMap(CurrentRequest, ({ body }) =>
        ingress.receive(params.provider, params.route_key, { headers: request.headers, body })
      ).pipe(
        Effect.map((status) => ({ status })),
        answered(200)
      )
    )
  })
)

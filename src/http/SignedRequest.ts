import { Context, Effect, Layer } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import type { Caller } from "../domain/Tenant.ts"
import { ActingTenant } from "../runtime/ActingTenant.ts"
import { CurrentRequest, type EdgeRequest } from "./CurrentRequest.ts"

/** A request whose signature was verified. */
export class Signed extends Context.Service<Signed, EdgeRequest & { readonly caller: Caller }>()("gateway/http/Signed") {}

/**
 * Marks the endpoints that only a signed request reaches and hands them its caller. The check itself is made at the edge, before any
 * routing, so that an unsigned request to an unknown path is refused alike.
 */
export class SignedRequest extends HttpApiMiddleware.Service<SignedRequest, { provides: Signed }>()(
  "gateway/http/SignedRequest"
) {
  static readonly layer = Layer.succeed(
    SignedRequest,
    SignedRequest.of((endpoint, { endpoint: { path } }) =>
      Effect.flatMap(CurrentRequest, (request) =>
        request.caller === null
          ? Effect.die(new Error(`${path} is a signed endpoint outside the signed paths`))
          : endpoint.pipe(
              Effect.provideService(Signed, { ...request, caller: request.caller }),
              Effect.provideService(ActingTenant, request.caller.appId)
            )
      )
    )
  )
}

import { Context, Effect, type Fiber, Layer } from "effect"
import type { HttpServerResponse } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import type { Caller } from "../domain/Tenant.ts"
import { ActingTenant } from "../runtime/ActingTenant.ts"

/** A request that passed the edge: what every handler may need of it. */
export interface EdgeRequest {
  readonly requestId: string
  /** Names and values in turn, duplicates included. */
  readonly rawHeaders: ReadonlyArray<string>
  /** Empty for GET, HEAD and DELETE. */
  readonly body: Uint8Array
  /** Null on the paths that nobody signs. */
  readonly caller: Caller | null
  /** Told by an endpoint whose work goes on when the request is cut short: then this is still waited for, and is the answer. */
  readonly outlasts: (answer: Fiber.Fiber<HttpServerResponse.HttpServerResponse>) => Effect.Effect<void>
}

const none: EdgeRequest = { requestId: "", rawHeaders: [], body: new Uint8Array(), caller: null, outlasts: () => Effect.void }

/** Set by the edge for each request, and empty outside one. */
export const CurrentRequest = Context.Reference<EdgeRequest>("gateway/http/CurrentRequest", { defaultValue: () => none })

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

/** What a signed request without a body asks: the operation with its caller. */
export const withCaller = <A, E, R>(run: (caller: Caller) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Signed> =>
  Effect.flatMap(Signed, ({ caller }) => run(caller))

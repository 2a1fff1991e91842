import { Context, Effect } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import type { Caller } from "../../domain/Tenant.ts"
import { ActingTenant } from "../../runtime/CallTurn.ts"
import type { RequestNonce } from "../../services/admission/RequestNonce.ts"

/** A request that passed the edge, as handlers need it: those of signed endpoints as `Signed`, the others as `CurrentRequest`. */
export interface EdgeRequest {
  readonly requestId: string
  /** Names and values in turn, duplicates included. */
  readonly rawHeaders: ReadonlyArray<string>
  /** Empty for GET, HEAD and DELETE. */
  readonly body: Uint8Array
  /** Null on unsigned paths. */
  readonly caller: Caller | null
  /** Of a request that claims an idempotency key, and spends it with the claim. Null for every other one: the edge has spent theirs. */
  readonly nonce: RequestNonce | null
  /** How long it may wait for the claim of its key. */
  readonly claimWithinMs: number
}

const none: EdgeRequest = {
  requestId: "",
  rawHeaders: [],
  body: new Uint8Array(),
  caller: null,
  nonce: null,
  claimWithinMs: 0
}

/** Set by the edge for each request of an endpoint that is not signed, and empty elsewhere. */
export const CurrentRequest = Context.Reference<EdgeRequest>("gateway/http/CurrentRequest", { defaultValue: () => none })

/** The request, in the handlers of signed endpoints: its caller is known. */
export class Signed extends Context.Service<Signed, EdgeRequest & { readonly caller: Caller }>()("gateway/http/Signed") {}

/**
 * The mark of the endpoints that only a signed request reaches; `forSignedEndpoint` gives their handlers `Signed`. Refuses nothing: the
 * signature is checked at the edge, before any routing, so that an unsigned request to an unknown path is refused like every other.
 */
export class SignedRequest extends HttpApiMiddleware.Service<SignedRequest, { provides: Signed }>()(
  "gateway/http/SignedRequest"
) {}

/** Runs a handler with the request that the edge let through. A signed endpoint that the edge leaves unsigned is a bug and dies. */
export const forSignedEndpoint = <A, E>(
  request: EdgeRequest,
  handler: Effect.Effect<A, E, Signed>,
  path: string
): Effect.Effect<A, E> => {
  const { caller } = request
  if (caller === null) return Effect.die(new Error(`${path} is a signed endpoint outside the signed paths`))
  return Effect.updateContext(handler, (context: Context.Context<never>) =>
    context.pipe(Context.add(ActingTenant, caller.appId), Context.add(Signed, { ...request, caller }))
  )
}

/** Runs the operation of a signed request that has no body and claims no key. */
export const withCaller = <A, E, R>(
  run: (caller: Caller, request: Signed["Service"]) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | Signed> => Effect.flatMap(Signed, (request) => run(request.caller, request))

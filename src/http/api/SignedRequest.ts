import { Context, Effect } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import type { Caller } from "../../domain/Tenant.ts"
import { ActingTenant } from "../../runtime/CallTurn.ts"
import type { RequestNonce } from "../../services/admission/RequestNonce.ts"

/** A request that passed the edge, as handlers get it: as `Signed` for signed endpoints, as `CurrentRequest` for the others. */
export interface EdgeRequest {
  readonly requestId: string
  /** Names and values alternate, duplicates included. */
  readonly rawHeaders: ReadonlyArray<string>
  /** Empty for GET, HEAD and DELETE. */
  readonly body: Uint8Array
  /** Null on unsigned paths. */
  readonly caller: Caller | null
  /** The nonce of a request that claims an idempotency key, spent with the claim. Null for others: the edge has spent theirs. */
  readonly nonce: RequestNonce | null
  /** How long the claim of its key may take. */
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

/** The request of an unsigned endpoint, set by the edge; empty elsewhere. */
export const CurrentRequest = Context.Reference<EdgeRequest>("gateway/http/CurrentRequest", { defaultValue: () => none })

/** The request of a signed endpoint, whose caller is known. */
export class Signed extends Context.Service<Signed, EdgeRequest & { readonly caller: Caller }>()("gateway/http/Signed") {}

/**
 * Marks endpoints that only a signed request reaches; `forSignedEndpoint` gives their handlers `Signed`. Refuses nothing: the
 * edge checks signatures before routing, so that an unsigned request to an unknown path is refused like any other.
 */
export class SignedRequest extends HttpApiMiddleware.Service<SignedRequest, { provides: Signed }>()(
  "gateway/http/SignedRequest"
) {}

/** Runs a handler with the request from the edge. Dies when a signed endpoint gets a request without a caller, which is a bug. */
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

/** Runs the operation of a signed request without a body and without an idempotency key. */
export const withCaller = <A, E, R>(
  run: (caller: Caller, request: Signed["Service"]) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | Signed> => Effect.flatMap(Signed, (request) => run(request.caller, request))

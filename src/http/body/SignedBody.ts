import { Effect, Result } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import type { Caller } from "../../domain/Tenant.ts"
import { Signed } from "../api/SignedRequest.ts"
import { respond, withIgnoredHeader } from "../edge/Response.ts"
import type { JsonTree } from "../json/StrictJson.ts"
import { type Body, checkMode, readTree } from "./Body.ts"

/**
 * Handles a signed request with a body and without an idempotency key: decodes the body, runs the operation, and returns its
 * view with `status`, naming the ignored members of the body. Refuses a body that is not JSON, then one of another mode, then
 * whatever the decoder refuses, then whatever the operation refuses.
 */
export const withSignedBody = <C, E extends ApiError, F extends ApiError>(
  decode: (tree: JsonTree) => Result.Result<Body<C>, E>,
  run: (caller: Caller, command: C) => Effect.Effect<unknown, F>,
  status = 200
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, Signed> =>
  Effect.flatMap(Signed, ({ body, caller }) => {
    const decoded = readTree(body).pipe(
      Result.flatMap((tree) => checkMode(tree, caller.mode)),
      Result.flatMap(decode)
    )
    const ignored = Result.isSuccess(decoded) ? decoded.success.ignored : []
    return Effect.fromResult(decoded).pipe(
      Effect.flatMap(({ command }) => run(caller, command)),
      respond(status),
      Effect.map(withIgnoredHeader(ignored))
    )
  })

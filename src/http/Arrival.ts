import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { pathOf } from "../domain/CanonicalText.ts"
import type { Identifiers } from "../services/ports/Identifiers.ts"
import { type Match, matchRoute } from "./HttpRoutes.ts"
import { asReceived } from "./NodeListener.ts"
import { valuesOf } from "./RequestHeaders.ts"

/** What one request is about, known before anything is decided. */
export interface Arrival {
  /** The client's own where it can be printed, and ours otherwise. */
  readonly requestId: string
  readonly method: string
  readonly rawTarget: string
  readonly path: string
  readonly rawHeaders: ReadonlyArray<string>
  readonly match: Match
}

export const arrivalOf = (request: HttpServerRequest.HttpServerRequest, identifiers: Identifiers["Service"]) => {
  const { rawHeaders, rawTarget } = asReceived(request)
  const path = pathOf(rawTarget)
  const { method } = request
  const [requestId, ...more] = valuesOf(rawHeaders, "x-request-id")
  const isUsable = requestId !== undefined && more.length === 0 && PRINTABLE.test(requestId)
  return Effect.map(
    isUsable ? Effect.succeed(requestId) : identifiers.reference,
    (requestId): Arrival => ({ requestId, method, rawTarget, path, rawHeaders, match: matchRoute(method, path) })
  )
}

const PRINTABLE = /^[\x20-\x7e]{1,128}$/

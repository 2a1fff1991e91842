import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { pathOf } from "../../domain/StringToSign.ts"
import type { RandomSource } from "../../services/ports/RandomSource.ts"
import { type Match, matchRoute } from "./HttpRoutes.ts"
import { asReceived } from "./NodeListener.ts"
import { singleValue } from "./RequestHeaders.ts"

/** A request as it arrived: its request line, its headers and the matched route. */
export interface RequestHead {
  /** The client's request id when it is printable, otherwise ours. */
  readonly requestId: string
  readonly method: string
  /** The target as it was sent, with its query. */
  readonly rawTarget: string
  readonly path: string
  /** Names and values alternate, duplicates included. */
  readonly rawHeaders: ReadonlyArray<string>
  readonly match: Match
}

/** Reads the head of a request. Reads no body and refuses nothing: a route that does not exist is a match like any other. */
export const requestHeadOf = (request: HttpServerRequest.HttpServerRequest, randomSource: RandomSource["Service"]) => {
  const { rawHeaders, rawTarget } = asReceived(request)
  const path = pathOf(rawTarget)
  const { method } = request
  const requestId = singleValue(rawHeaders, "x-request-id")
  return Effect.map(
    requestId !== undefined && PRINTABLE.test(requestId) ? Effect.succeed(requestId) : randomSource.reference,
    (requestId): RequestHead => ({ requestId, method, rawTarget, path, rawHeaders, match: matchRoute(method, path) })
  )
}

const PRINTABLE = /^[\x20-\x7e]{1,128}$/

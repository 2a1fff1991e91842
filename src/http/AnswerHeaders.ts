import { HttpServerResponse } from "effect/http"

/** What every answer carries: nobody keeps a copy of it, unless it says so itself, and no browser guesses what it is. */
export const safeHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const

/** The response with these headers and its request's id; its own come first. */
export const withSafeHeaders = (
  response: HttpServerResponse.HttpServerResponse,
  requestId: string
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeaders(response, { ...safeHeaders, ...response.headers, "x-request-id": requestId })

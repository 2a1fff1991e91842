import { Effect, Result, Schema, SchemaParser } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { CapabilityNotAllowed, ValidationFailed } from "../../domain/errors/Terminal.ts"
import { Api } from "../api/Api.ts"
import { CurrentRequest, type EdgeRequest, forSignedEndpoint, type Signed, SignedRequest } from "../api/SignedRequest.ts"
import { bounded, fieldIssues } from "../json/Issues.ts"
import { type Found, routeOf } from "./HttpRoutes.ts"
import { refusesUnknown, type Search, searchOf, unknownParameters } from "./QueryParameters.ts"

type Response = HttpServerResponse.HttpServerResponse
type Groups = (typeof Api)["groups"]
type GroupName = keyof Groups

/** The handler of an endpoint. It gets the decoded parameters. */
type HandlerOf<E> = (
  input: Omit<HttpApiEndpoint.RequestRaw<E>, "endpoint" | "group" | "headers">
) => Effect.Effect<Response, never, SignedOf<E> | QueryOf<E>>
/** Only for endpoints with the `SignedRequest` middleware. */
type SignedOf<E> = SignedRequest extends HttpApiEndpoint.Middleware<E> ? Signed : never
/** Only for endpoints that name query parameters: all parameters as they were sent. */
type QueryOf<E> = HttpApiEndpoint.RequestRaw<E> extends { readonly query: unknown } ? HttpServerRequest.ParsedSearchParams : never

/** The handlers of a group, by endpoint name. A missing handler is a compile error. */
export type HandlersOf<Name extends GroupName> = {
  readonly [E in keyof Groups[Name]["endpoints"]]: HandlerOf<Groups[Name]["endpoints"][E]>
}

export const handlersOf = <Name extends GroupName>(_group: Name, handlers: HandlersOf<Name>): HandlersOf<Name> => handlers

/** Runs the endpoint that a request was matched to. Refuses path and query parameters that the endpoint's schemas reject. */
export type Endpoints = (
  request: Incoming,
  match: Found,
  admitted: EdgeRequest
) => Effect.Effect<Response, ValidationFailed | CapabilityNotAllowed>

/**
 * The handlers of all endpoints, by route. It replaces `HttpApiBuilder` and its router, which would match the path a second
 * time and copy the services of each handler into a new context for every request: a fifth of what a read allocated.
 */
export const makeEndpoints = (groups: { readonly [Name in GroupName]: HandlersOf<Name> }): Endpoints => {
  const handlers = new Map(membersOf<object>(groups).map(([name, group]) => [name, new Map(membersOf<Handler>(group))]))
  const runners = new Map(
    membersOf<{ readonly endpoints: object }>(Api.groups).flatMap(([group, { endpoints }]) =>
      membersOf<Endpoint>(endpoints).flatMap(([name, endpoint]) => {
        const handler = handlers.get(group)?.get(name)
        return handler === undefined ? [] : [[routeOf(endpoint).name, runnerOf(endpoint, handler)]]
      })
    )
  )
  return (request, { params, route }, admitted) => {
    const run = runners.get(route.name)
    // Only a program's key may change anything; reader and admin keys are read-only, whatever their tenant's capabilities.
    if (
      admitted.caller !== null &&
      admitted.caller.role !== "tenant" &&
      !isRead(request.method) &&
      !readsByPost.includes(route.name)
    )
      return Effect.fail(new CapabilityNotAllowed({ capability: "changes" }))
    return run === undefined ? Effect.die(new Error(`${route.name} has no handler`)) : run(request, params, admitted)
  }
}

/** The entries of an object whose type lists its members, for code that treats them alike. */
const membersOf = <A>(object: object): ReadonlyArray<readonly [string, A]> => Object.entries(object)

/** Reads with a body, so that the number in the search appears in no log and no address. */
const readsByPost: ReadonlyArray<string> = ["POST /v1/transactions/search"]

export const isRead = (method: string): boolean => method === "GET" || method === "HEAD"

type Incoming = HttpServerRequest.HttpServerRequest

interface Input {
  readonly request: Incoming
  readonly params?: unknown
  readonly query?: unknown
}

/** Needs `Signed` when its endpoint has the `SignedRequest` middleware, and nothing otherwise. */
type Handler = <R extends Signed>(input: Input) => Effect.Effect<Response, never, R>

/** The schemas of parameters need no services. */
type Parameters = Schema.ConstraintDecoder<unknown> | undefined
type Endpoint = HttpApiEndpoint.Top & { readonly params: Parameters; readonly query: Parameters }

/** Decodes the parameters that an endpoint names, and runs its handler with them. */
const runnerOf = (endpoint: Endpoint, handler: Handler) => {
  const { middlewares, params, path, query } = endpoint
  const isSigned = middlewares.has(SignedRequest)
  const decodeParams = params === undefined ? undefined : decoderOf(params)
  const isStrict = refusesUnknown(endpoint)
  const decodeQuery = queryDecoderOf(endpoint, isStrict)
  const handle = (admitted: EdgeRequest, input: Input): Effect.Effect<Response> =>
    isSigned
      ? forSignedEndpoint(admitted, handler(input), path)
      : Effect.provideService(handler<never>(input), CurrentRequest, admitted)
  return (request: Incoming, sent: Found["params"], admitted: EdgeRequest): Effect.Effect<Response, ValidationFailed> =>
    query === undefined
      ? Effect.flatMap(decodeParams?.(sent) ?? none, (params) => handle(admitted, { request, params }))
      : Effect.gen(function* () {
          const search = yield* Effect.fromResult(searchOf(request.url))
          const input = { request, params: yield* decodeParams?.(sent) ?? none, query: yield* decodeQuery(search) }
          return yield* Effect.provideService(handle(admitted, input), HttpServerRequest.ParsedSearchParams, search)
        })
}

/** Decodes a query, or lists every mistake in it. */
const queryDecoderOf = (endpoint: Endpoint, isStrict: boolean) => {
  const unknown = isStrict ? unknownParameters(endpoint) : () => []
  const decode =
    endpoint.query === undefined ? undefined : SchemaParser.decodeUnknownResult(Schema.toCodecArrayFromSingle(endpoint.query))
  return (search: Search): Effect.Effect<unknown, ValidationFailed> => {
    const decoded = decode?.(search) ?? Result.succeed(undefined)
    const wrong = Result.isFailure(decoded) ? fieldIssues(decoded.failure, undefined) : []
    const issues = bounded(unknown(search), wrong)
    return issues.length > 0 || Result.isFailure(decoded)
      ? Effect.fail(new ValidationFailed({ issues }))
      : Effect.succeed(decoded.success)
  }
}

const none = Effect.succeed(undefined)

const decoderOf = (schema: Schema.ConstraintDecoder<unknown>) => {
  const decode = SchemaParser.decodeUnknownResult(schema)
  return (sent: unknown): Effect.Effect<unknown, ValidationFailed> => {
    const decoded = decode(sent)
    return Result.isSuccess(decoded)
      ? Effect.succeed(decoded.success)
      : Effect.fail(new ValidationFailed({ issues: bounded(fieldIssues(decoded.failure, undefined)) }))
  }
}

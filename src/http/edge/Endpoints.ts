import type { Context } from "effect"
import { Effect, Result, Schema, SchemaParser } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { CapabilityNotAllowed, ValidationFailed } from "../../domain/errors/Terminal.ts"
import { queryOf, queryParameters } from "../../domain/StringToSign.ts"
import { Api } from "../api/Api.ts"
import { CurrentRequest, type EdgeRequest, forSignedEndpoint, type Signed, SignedRequest } from "../api/SignedRequest.ts"
import { bounded, fieldIssues } from "../json/Issues.ts"
import { type Found, routeOf } from "./HttpRoutes.ts"

type Response = HttpServerResponse.HttpServerResponse
type Groups = typeof Api extends HttpApi.HttpApi<infer Id, infer Group> ? HttpApiGroup.ToService<Id, Group> : never

/** Runs the endpoint that a request was matched to. Refuses path and query parameters that the endpoint's schemas do not take. */
export type Endpoints = (
  request: Incoming,
  match: Found,
  admitted: EdgeRequest
) => Effect.Effect<Response, ValidationFailed | CapabilityNotAllowed>

/**
 * The handlers of every endpoint, by their routes. It stands in the place of `HttpApiBuilder.layer` and its router. They would match the
 * path a second time, and for each request copy the services that a handler was built with into a new context: a fifth of what a read
 * allocated, for services that every handler has already.
 */
export const makeEndpoints: Effect.Effect<Endpoints, never, Groups> = Effect.contextWith((services: Context.Context<Groups>) => {
  const endpoints = new Map(
    Object.values(Api.groups).flatMap((group) => {
      const built: BuiltGroup = services.mapUnsafe.get(group.key)
      return [...built.handlers.values()].map(({ endpoint, handler }) => [routeOf(endpoint).name, runnerOf(endpoint, handler)])
    })
  )
  return Effect.succeed((request, { params, route }, admitted) => {
    const run = endpoints.get(route.name)
    // An admin key is for looking, whatever its tenant may do.
    if (admitted.caller?.role === "admin" && !isRead(request.method))
      return Effect.fail(new CapabilityNotAllowed({ capability: "changes" }))
    return run === undefined ? Effect.die(new Error(`${route.name} has no handler`)) : run(request, params, admitted)
  })
})

export const isRead = (method: string): boolean => method === "GET" || method === "HEAD"

type Incoming = HttpServerRequest.HttpServerRequest

interface Input {
  readonly request: Incoming
  readonly params?: unknown
  readonly query?: unknown
}

/** The value that `HttpApiBuilder.group` puts into the context: the handlers as they were given to `handleRaw`. */
interface BuiltGroup {
  readonly handlers: ReadonlyMap<string, { readonly endpoint: Endpoint; readonly handler: Handler }>
}
/** It needs `Signed` where its endpoint has the mark `SignedRequest`, and nothing elsewhere. */
type Handler = <R extends Signed>(input: Input) => Effect.Effect<Response, never, R>

/** No schema of a parameter needs a service. */
type Parameters = Schema.ConstraintDecoder<unknown> | undefined
type Endpoint = HttpApiEndpoint.Top & { readonly params: Parameters; readonly query: Parameters }

/** Decodes the parameters that an endpoint names, and runs its handler with them. */
const runnerOf = ({ middlewares, params, path, query }: Endpoint, handler: Handler) => {
  const isSigned = middlewares.has(SignedRequest)
  const decodeParams = params === undefined ? undefined : decoderOf(params)
  const decodeQuery = query === undefined ? undefined : decoderOf(Schema.toCodecArrayFromSingle(query))
  const handle = (admitted: EdgeRequest, input: Input): Effect.Effect<Response> =>
    isSigned
      ? forSignedEndpoint(admitted, handler(input), path)
      : Effect.provideService(handler<never>(input), CurrentRequest, admitted)
  return (request: Incoming, sent: Found["params"], admitted: EdgeRequest): Effect.Effect<Response, ValidationFailed> =>
    decodeQuery === undefined
      ? Effect.flatMap(decodeParams?.(sent) ?? none, (params) => handle(admitted, { request, params }))
      : Effect.gen(function* () {
          const search = yield* Effect.fromResult(searchOf(request.url))
          const input = { request, params: yield* decodeParams?.(sent) ?? none, query: yield* decodeQuery(search) }
          return yield* Effect.provideService(handle(admitted, input), HttpServerRequest.ParsedSearchParams, search)
        })
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

/**
 * A request's query as it was signed, each parameter with its value, or with all of its values where it came more than once. One that cannot be decoded
 * cannot be signed: only an endpoint that takes no signature could be asked with it.
 */
const searchOf = (target: string): Result.Result<Record<string, string | Array<string>>, ValidationFailed> =>
  Result.map(Result.fromOption(queryParameters(queryOf(target)), undecodable), (parameters) => {
    const found = new Map<string, string | Array<string>>()
    for (const [name, value] of parameters) {
      const earlier = found.get(name)
      if (earlier === undefined) found.set(name, value)
      else if (typeof earlier === "string") found.set(name, [earlier, value])
      else earlier.push(value)
    }
    return Object.fromEntries(found)
  })

const undecodable = () => new ValidationFailed({ issues: [{ path: "", message: "The query is not percent-encoded UTF-8." }] })

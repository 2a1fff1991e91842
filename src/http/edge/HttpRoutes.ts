import { Context, Option } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { pathPattern } from "../../runtime/PathPattern.ts"
import { Api } from "../api/Api.ts"
import { Operation } from "../api/Operation.ts"

/** A method and a path template, `GET /v1/payouts/{reference}`: a route's name in logs, spans, idempotency keys and limits. */
export interface HttpRoute {
  readonly method: string
  readonly template: string
  /** Method and template: `GET /v1/payouts/{reference}`. */
  readonly name: string
  /** The endpoint's annotation; undefined when it is not an operation of the API. */
  readonly operation: Operation["Service"] | undefined
}

/** `params`: the path parameters by name, as they were sent. */
export interface Found {
  readonly _tag: "Found"
  readonly route: HttpRoute
  readonly params: Readonly<Record<string, string>>
}

export type Match = Found | { readonly _tag: "WrongMethod"; readonly allow: string } | { readonly _tag: "Unknown" }

interface Path {
  readonly template: string
  readonly paramsOf: ReturnType<typeof pathPattern>
  readonly routes: Map<string, HttpRoute>
}

/** The route of an endpoint. */
export const routeOf = ({ annotations, method, path }: HttpApiEndpoint.Top): HttpRoute => {
  const template = path.replace(/:([a-z_]+)/g, "{$1}")
  const operation = Option.getOrUndefined(Context.getOption(annotations, Operation))
  return { method, template, name: `${method} ${template}`, operation }
}

/**
 * Finds the route of a path as it was sent. Nothing is decoded or normalized: a path in another case, with an escape, or with a doubled
 * or trailing slash is another path, and has no route.
 */
export const matchRoute = (method: string, path: string): Match => {
  const { found, params } = find(path)
  if (found === undefined) return { _tag: "Unknown" }
  const route = found.routes.get(method) ?? (method === "HEAD" ? found.routes.get("GET") : undefined)
  return route === undefined ? { _tag: "WrongMethod", allow: allowed(found) } : { _tag: "Found", route, params }
}

const find = (path: string): { readonly found?: Path; readonly params: Found["params"] } => {
  const literal = paths.literal.get(path)
  if (literal !== undefined) return { found: literal, params: {} }
  const parts = path.split("/")
  for (const found of paths.patterns) {
    const params = found.paramsOf(parts)
    if (params !== undefined) return { found, params }
  }
  return { params: {} }
}

/** Whether a path accepts signed requests only. Matched loosely, so that another spelling of a signed path reveals nothing. */
export const isSignedPath = (target: string, path: string): boolean => {
  if (!target.startsWith("/")) return true
  if (PLAIN_SIGNED.test(path)) return true
  const folded = path
    .replace(/%[0-9a-f]{2}/gi, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)))
    .replace(/\/{2,}/g, "/")
    .toLowerCase()
  return folded === "/v1" || folded.startsWith("/v1/") || folded === "/health/detail"
}

/** The spelling of nearly every signed path. */
const PLAIN_SIGNED = /^\/v1\//

export const isCallbackPath = (path: string): boolean => path.startsWith("/webhooks/")

/** The parts of a callback path; undefined for other paths. */
export const callbackOf = (path: string): { readonly provider: string; readonly routeKey: string } | undefined => {
  const [, , provider, routeKey] = path.split("/")
  return !isCallbackPath(path) || provider === undefined || routeKey === undefined ? undefined : { provider, routeKey }
}

const LONGEST_PARAMETER = 100
const PARAMETER = new RegExp(`^[A-Za-z0-9._~-]{1,${LONGEST_PARAMETER}}$`)

const allowed = ({ routes }: Path): string =>
  [...routes.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ")

const readPaths = () => {
  const known = new Map<string, Path>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const route = routeOf(endpoint)
      const path = known.get(route.template) ?? {
        template: route.template,
        paramsOf: pathPattern(endpoint.path, PARAMETER),
        routes: new Map()
      }
      path.routes.set(endpoint.method, route)
      known.set(route.template, path)
    }
  })
  const all = [...known.values()]
  const isPattern = ({ template }: Path) => template.includes("{")
  return {
    literal: new Map(all.filter((path) => !isPattern(path)).map((path) => [path.template, path])),
    patterns: all.filter(isPattern)
  }
}

const paths = readPaths()

/** Every route by its name. */
export const routes: ReadonlyMap<string, HttpRoute> = new Map(
  [...paths.literal.values(), ...paths.patterns].flatMap((path) => [...path.routes.values()].map((route) => [route.name, route]))
)

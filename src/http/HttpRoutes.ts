import { HttpApi } from "effect/http-api"
import { Api } from "./Api.ts"

/** A method and a path template, such as `GET` and `/v1/payouts/{reference}`: the name of a route in logs, spans, keys and limits. */
export interface HttpRoute {
  readonly method: string
  readonly template: string
}

export type Match =
  | { readonly _tag: "Found"; readonly route: HttpRoute }
  | { readonly _tag: "WrongMethod"; readonly allow: string }
  | { readonly _tag: "Unknown" }

interface Path {
  readonly template: string
  readonly segments: ReadonlyArray<string>
  readonly routes: Map<string, HttpRoute>
}

/**
 * Finds the route of a path as it was sent. Nothing is decoded or normalized: a path in another case, with an escape, or with a doubled
 * or trailing slash is another path, and has no route.
 */
export const matchRoute = (method: string, path: string): Match => {
  const found = paths.literal.get(path) ?? paths.patterns.find((candidate) => matches(candidate.segments, path))
  if (found === undefined) return { _tag: "Unknown" }
  const route = found.routes.get(method) ?? (method === "HEAD" ? found.routes.get("GET") : undefined)
  return route === undefined ? { _tag: "WrongMethod", allow: allowed(found) } : { _tag: "Found", route }
}

/** Whether a path takes signed requests only. It is read loosely, so that nobody learns anything by another spelling of a signed path. */
export const isSignedPath = (target: string, path: string): boolean => {
  if (!target.startsWith("/")) return true
  const folded = path
    .replace(/%[0-9a-f]{2}/gi, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)))
    .replace(/\/{2,}/g, "/")
    .toLowerCase()
  return folded === "/v1" || folded.startsWith("/v1/") || folded === "/health/detail"
}

export const isCallbackPath = (path: string): boolean => path.startsWith("/webhooks/")

/** The parts of a callback's path; undefined for every other path. */
export const callbackOf = (path: string): { readonly provider: string; readonly routeKey: string } | undefined => {
  const [, , provider, routeKey] = path.split("/")
  return !isCallbackPath(path) || provider === undefined || routeKey === undefined ? undefined : { provider, routeKey }
}

const LONGEST_PARAMETER = 100
const PARAMETER = new RegExp(`^[A-Za-z0-9._~-]{1,${LONGEST_PARAMETER}}$`)

const matches = (segments: ReadonlyArray<string>, path: string): boolean => {
  const parts = path.split("/")
  return (
    parts.length === segments.length &&
    segments.every((segment, at) => (segment === "*" ? PARAMETER.test(parts[at] ?? "") : segment === parts[at]))
  )
}

const allowed = ({ routes }: Path): string =>
  [...routes.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ")

const readPaths = () => {
  const known = new Map<string, Path>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const template = endpoint.path.replace(/:([a-z_]+)/g, "{$1}")
      const segments = endpoint.path.split("/").map((segment) => (segment.startsWith(":") ? "*" : segment))
      const path = known.get(template) ?? { template, segments, routes: new Map() }
      path.routes.set(endpoint.method, { method: endpoint.method, template })
      known.set(template, path)
    }
  })
  const all = [...known.values()]
  return {
    literal: new Map(all.filter((path) => !path.segments.includes("*")).map((path) => [path.template, path])),
    patterns: all.filter((path) => path.segments.includes("*"))
  }
}

const paths = readPaths()

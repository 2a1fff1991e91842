import { HttpApi } from "effect/http-api"
import { Api } from "./Api.ts"

/** A route by its template, as logs, spans, idempotency and limits know it: "POST /v1/payouts", "/v1/payouts/{reference}". */
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
 * Finds the route of a path as it was sent. Nothing is decoded, folded or collapsed: another case, an escape, a doubled or
 * trailing slash is another path, and there is none.
 */
export const matchRoute = (method: string, path: string): Match => {
  const found = paths.literal.get(path) ?? paths.patterns.find((candidate) => matches(candidate.segments, path))
  if (found === undefined) return { _tag: "Unknown" }
  const route = found.routes.get(method) ?? (method === "HEAD" ? found.routes.get("GET") : undefined)
  return route === undefined ? { _tag: "WrongMethod", allow: allowed(found) } : { _tag: "Found", route }
}

/** Whether only signed requests are let through. Read loosely, so that no spelling of a signed path can be probed unsigned. */
export const isSignedPath = (target: string, path: string): boolean => {
  if (!target.startsWith("/")) return true
  const folded = path
    .replace(/%[0-9a-f]{2}/gi, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)))
    .replace(/\/{2,}/g, "/")
    .toLowerCase()
  return folded === "/v1" || folded.startsWith("/v1/") || folded === "/health/detail"
}

export const isCallbackPath = (path: string): boolean => path.startsWith("/webhooks/")

/** The parts of a callback path; undefined for every other. */
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

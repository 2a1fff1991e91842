import { Result, SchemaAST } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { type Issue, ValidationFailed } from "../../domain/errors/Terminal.ts"
import { queryOf, queryParameters } from "../../domain/StringToSign.ts"
import { SignedRequest } from "../api/SignedRequest.ts"
import { childPath, issueAt } from "../json/Issues.ts"
import { routeOf } from "./HttpRoutes.ts"

/** The parameters of a query by name, as they were sent; all values when a name was sent more than once. */
export type Search = Readonly<Record<string, string | Array<string>>>

/** A request's query as it was signed. One that cannot be decoded cannot be signed, so only an unsigned endpoint sees it. */
export const searchOf = (target: string): Result.Result<Search, ValidationFailed> =>
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

/** The path of a single record. */
const OF_ONE = /:\w+$/

/**
 * Whether an endpoint refuses parameters that it does not name (contract ENV-18). A list does, because a misspelt filter would
 * list everything. A read of one record does not: its answer is the same whatever a client or proxy adds to the query.
 */
export const refusesUnknown = ({ middlewares, path, query }: HttpApiEndpoint.Top): boolean =>
  query !== undefined && !OF_ONE.test(path) && middlewares.has(SignedRequest)

/** An issue for each query parameter that the endpoint does not name. */
export const unknownParameters = (endpoint: HttpApiEndpoint.Top): ((search: Search) => Iterable<Issue>) => {
  const isNamed = namedBy(endpoint)
  return function* (search) {
    for (const name of Object.keys(search)) if (!isNamed(name)) yield issueAt(childPath(null, name), UNKNOWN)
  }
}

const UNKNOWN = "is not a parameter of this endpoint"

/** The names in the endpoint's schema, and the pattern of names that a schema cannot list. */
const namedBy = (endpoint: HttpApiEndpoint.Top): ((name: string) => boolean) => {
  const ast = endpoint.query?.ast
  const names = new Set(
    ast !== undefined && SchemaAST.isObjects(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : []
  )
  const others = routeOf(endpoint).operation?.otherParameters
  return (name) => names.has(name) || others?.test(name) === true
}

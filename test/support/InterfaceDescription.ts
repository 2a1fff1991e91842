import { matchRoute } from "../../src/http/HttpRoutes.ts"
import { describeInterface } from "../../src/http/OpenApiDescription.ts"
import { isTree, type Tree } from "../../src/http/OpenApiSchemas.ts"
import { breaches, resolved } from "./JsonSchema.ts"

/** One request and what was answered to it. */
export interface AnsweredRequest {
  readonly method: string
  readonly target: string
  /** The request's body as it was sent; empty for none. */
  readonly sent: string
  readonly status: number
  readonly text: string
}

let description: Tree | undefined

/** The description as it is served, read by a client. */
export const interfaceDescription = (): Tree => {
  description ??= parsed(JSON.stringify(describeInterface()))
  return description
}

/** What an answer, or a request that was accepted, breaks of the interface's description. */
export const breachesOfDescription = ({ method, sent, status, target, text }: AnsweredRequest): ReadonlyArray<string> => {
  const document = interfaceDescription()
  const match = matchRoute(method, target.split("?")[0] ?? "")
  const answer: unknown = JSON.parse(text)
  const where = `${method} ${target} ${status}`
  if (match._tag !== "Found") return breaches(document, { anyOf: errorsOf(document) }, answer, where)
  const operation = resolved(document, pointer("paths", match.route.template, method.toLowerCase()))
  const response = resolved(document, pointer("paths", match.route.template, method.toLowerCase(), "responses", String(status)))
  if (!isTree(operation) || !isTree(response)) return [`${where} is not described: ${text}`]
  const body = operation["requestBody"]
  const accepted = status < 300 && isTree(body) ? breaches(document, schemaOf(body), JSON.parse(sent), `${where} body`) : []
  return [...accepted, ...breaches(document, schemaOf(response), answer, where)]
}

const pointer = (...parts: ReadonlyArray<string>): string =>
  ["#", ...parts.map((part) => part.replaceAll("~", "~0").replaceAll("/", "~1"))].join("/")

const parsed = (text: string): Tree => JSON.parse(text)

const errorsOf = (document: Tree): ReadonlyArray<Tree> => {
  const schemas = resolved(document, "#/components/schemas")
  return Object.keys(isTree(schemas) ? schemas : {})
    .filter((name) => name.startsWith("Error_"))
    .map((name) => ({ $ref: `#/components/schemas/${name}` }))
}

const schemaOf = (holder: Tree): unknown => resolved(holder, "#/content/application~1json/schema")

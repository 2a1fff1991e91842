import { describeInterface } from "../../src/http/description/OpenApiDescription.ts"
import { isTree, mapped, type Tree, treeOf } from "../../src/http/description/OpenApiSchemas.ts"
import { matchRoute } from "../../src/http/edge/HttpRoutes.ts"
import { breaches, inlined, resolved } from "./JsonSchema.ts"

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
let closed: Tree | undefined

/** The description as it is served, read by a client. */
export const interfaceDescription = (): Tree => {
  description ??= parsed(JSON.stringify(describeInterface()))
  return description
}

/** The same with every object closed: a client takes members that it does not know, and these tests do not. */
export const closedDescription = (): Tree => {
  closed ??= treeOf(mapped(interfaceDescription(), (tree) => (isObject(tree) ? { ...tree, additionalProperties: false } : tree)))
  return closed
}

const isObject = (tree: Tree): boolean => tree["type"] === "object" && isTree(tree["properties"])

/** The schema of an operation's body without references; undefined where it has none. */
export const bodySchemaOf = (operation: unknown): unknown => {
  const schema = resolved(treeOf(operation), "#/requestBody/content/application~1json/schema")
  return schema === undefined ? undefined : inlined(interfaceDescription(), schema)
}

/** What an answer, or a request that was accepted, breaks of the interface's description. */
export const breachesOfDescription = ({ method, sent, status, target, text }: AnsweredRequest): ReadonlyArray<string> => {
  const document = closedDescription()
  const match = matchRoute(method, target.split("?")[0] ?? "")
  const answer: unknown = JSON.parse(text)
  const where = `${method} ${target} ${status}`
  if (match._tag !== "Found") return breaches(document, { $ref: "#/components/schemas/ErrorResponse" }, answer, where)
  const operation = resolved(document, pointer("paths", match.route.template, method.toLowerCase()))
  const response = resolved(document, pointer("paths", match.route.template, method.toLowerCase(), "responses", String(status)))
  if (!isTree(operation) || !isTree(response)) return [`${where} is not described: ${text}`]
  const body = operation["requestBody"]
  const accepted =
    status < 300 && isTree(body) ? breaches(interfaceDescription(), schemaOf(body), JSON.parse(sent), `${where} body`) : []
  // Each payout of a list is refused for itself, within an answer that succeeds.
  const own =
    match.route.template === "/v1/payouts/quotes"
      ? accepted.filter((breach) => !breach.startsWith(`${where} body.items[`))
      : accepted
  return [...own, ...breaches(document, schemaOf(response), answer, where)]
}

/** Throws unless the body of a webhook is as the description of its type says; the release before writes none of the members that are `newer`. */
export const checkEvent = (body: string, newer: ReadonlyArray<string> = []): void => {
  const event: unknown = JSON.parse(body)
  const document = closedDescription()
  const ref = resolved(document, `#/components/schemas/Event/discriminator/mapping/${String(treeOf(event)["type"])}`)
  const found = breaches(document, { $ref: ref }, event, "the event").filter(
    (breach) => !newer.some((member) => breach.endsWith(`lacks ${member}`))
  )
  if (found.length > 0) throw new Error(`the event is not as described:\n${found.join("\n")}`)
}

const pointer = (...parts: ReadonlyArray<string>): string =>
  ["#", ...parts.map((part) => part.replaceAll("~", "~0").replaceAll("/", "~1"))].join("/")

const parsed = (text: string): Tree => JSON.parse(text)

const schemaOf = (holder: Tree): unknown => resolved(holder, "#/content/application~1json/schema")

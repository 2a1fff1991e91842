import { isTree, type Tree } from "../../src/http/description/OpenApiSchemas.ts"
import { matchRoute } from "../../src/http/edge/HttpRoutes.ts"
import { breachesOfDescription, interfaceDescription } from "../../test/support/InterfaceDescription.ts"
import type { Answer, Asked, Case } from "./Case.ts"
import type { Heard } from "./Client.ts"

const KIBIBYTE = 1024
/** With its head. A refusal; the answer to a signed request; a page of the documentation or the description. */
const ANSWER_BYTES = { refusal: 16 * KIBIBYTE, signed: 512 * KIBIBYTE, page: 4096 * KIBIBYTE } as const

/** What is wrong with what came of a case, judged by nothing but that. */
export const faultsOf = (one: Case, { answers, fault }: Heard): ReadonlyArray<string> => [
  ...(fault === undefined ? [] : [fault]),
  ...answers.flatMap((answer, at) => {
    const asked = one.whole ? one.asked[at] : undefined
    const found = [...plain(answer), ...(asked === undefined ? [] : asWanted(asked, answer))]
    return found.map((text) => `${asked === undefined ? "" : `${asked.method} ${asked.target.slice(0, 80)}: `}${text}`)
  })
]

/** What holds for every answer, whatever was asked. */
const plain = (answer: Answer): ReadonlyArray<string> => {
  const { headers, status, text } = answer
  const faults: Array<string> = []
  if (status === 500 || (status > 500 && !mayBe.has(status))) faults.push(`${status}: ${text.slice(0, 300)}`)
  if (answer.bytes > boundOf(answer)) faults.push(`${answer.bytes} bytes (${status})`)
  if (headers["x-request-id"] === undefined) faults.push(`${status} without x-request-id`)
  if (headers["x-content-type-options"] !== "nosniff") faults.push(`${status} without nosniff`)
  if (headers["cache-control"] === undefined) faults.push(`${status} without cache-control`)
  if (Object.keys(headers).some((name) => name.startsWith("access-control-"))) faults.push("lets another origin read")
  if (status >= 400 || headers["content-type"] === "application/json") faults.push(...enveloped(answer))
  return faults
}

const boundOf = (answer: Answer): number => {
  if (answer.status >= 400) return ANSWER_BYTES.refusal
  const isPage = answer.headers["content-type"] !== "application/json" || isDescription(answer)
  return isPage ? ANSWER_BYTES.page : ANSWER_BYTES.signed
}

/** The only JSON without an envelope, and the only one that is compressed for whoever takes that. */
const isDescription = ({ headers, status, text }: Answer): boolean =>
  status === 200 && (text.startsWith('{"openapi"') || headers["content-encoding"] === "gzip")

/** One shape, whoever wrote the answer; an answer to HEAD has none. */
const enveloped = (answer: Answer): ReadonlyArray<string> => {
  const { status, text } = answer
  if (text === "" || isDescription(answer)) return []
  const envelope: unknown = parsed(text)
  if (!isTree(envelope)) return [`${status} without an envelope: ${text.slice(0, 200)}`]
  const { code, error, message } = envelope
  if (code !== status || typeof message !== "string") return [`${status} in another envelope: ${text.slice(0, 200)}`]
  if (status < 400) return error === undefined ? [] : [`${status} with an error`]
  const classes = isTree(error) ? [error["terminal"], error["retriable"], error["ambiguous"]] : []
  const isOne = classes.filter((one) => one === true).length === 1 && classes.every((one) => typeof one === "boolean")
  return isOne && isTree(error) && typeof error["code"] === "string" ? [] : [`${status} without one class: ${text.slice(0, 200)}`]
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What a whole request's answer has to be: as it is described, and as the case wants it. */
const asWanted = (asked: Asked, answer: Answer): ReadonlyArray<string> => {
  const own = asked.fault?.(answer)
  return [...(own === undefined ? [] : [own]), ...undeclared(asked, answer), ...undescribed(asked, answer)]
}

const undeclared = ({ method, target }: Asked, { status, text }: Answer): ReadonlyArray<string> => {
  if (status < 500) return []
  const match = matchRoute(method, target.split("?")[0] ?? "")
  const declared = match._tag === "Found" && statusesOf(match.route.template, match.route.method).includes(String(status))
  return declared ? [] : [`${status} is not declared here: ${text.slice(0, 300)}`]
}

const paths = interfaceDescription()["paths"]
const at = (tree: unknown, name: string): unknown => (isTree(tree) ? tree[name] : undefined)
const statusesOf = (template: string, method: string): ReadonlyArray<string> =>
  Object.keys(treeAt(at(at(at(paths, template), method.toLowerCase()), "responses")))
const treeAt = (value: unknown): Tree => (isTree(value) ? value : {})

/** Those above 500 that some route declares; what nobody could assign to a route is held against these. */
const mayBe = new Set(
  Object.values(treeAt(paths)).flatMap((item) =>
    Object.values(treeAt(item)).flatMap((operation) => Object.keys(treeAt(at(operation, "responses"))).map(Number))
  )
)

/** Answers that were held against the description; most refusals are the same bytes again and again. */
const seen = new Set<string>()
const SEEN_KEPT = 20_000

const undescribed = ({ method, sent, target }: Asked, answer: Answer): ReadonlyArray<string> => {
  const { headers, status, text } = answer
  const isJson = headers["content-type"] === "application/json" && !isDescription(answer) && parsed(text) !== undefined
  // A callback may be any bytes, so that nothing describes what was sent.
  const isAnyBytes = target.startsWith("/webhooks/") && status < 300
  if (!isJson || text === "" || isAnyBytes || status === 405 || target.startsWith("/docs")) return []
  const match = matchRoute(method, target.split("?")[0] ?? "")
  const key = `${match._tag === "Found" ? match.route.name : "-"} ${status} ${text.replaceAll(/"[0-9A-Z]{26}"/g, "")}`
  if (seen.has(key)) return []
  if (seen.size >= SEEN_KEPT) seen.clear()
  seen.add(key)
  return breachesOfDescription({ method, target, sent: status < 300 ? sent : "", status, text }).slice(0, 3)
}

import { errorEnvelope, httpStatusByCode } from "../api/Envelope.ts"
import { type Code, classOfCode, errorExamples, responseSchemaName, wireCode } from "../api/Errors.ts"
import { type HttpRoute, isCallbackPath, isSignedPath } from "../edge/HttpRoutes.ts"
import type { Tree } from "./OpenApiSchemas.ts"

/** The error codes of an operation: its own, and those that the edge adds to every operation of its kind. */
export const errorCodesOf = ({ method, operation, template }: HttpRoute): ReadonlyArray<Code> => {
  const isCallback = isCallbackPath(template)
  const isSigned = isSignedPath(template, template)
  const isSent = (method === "POST" || method === "PUT") && !isCallback
  const all: ReadonlyArray<Code> = [
    ...(isSigned ? (["unauthorized"] as const) : []),
    ...(isSigned || isCallback ? (["rate_limited"] as const) : []),
    "cross_origin_denied",
    "method_not_allowed",
    // For a key whose role may not change anything.
    ...(isSigned && method !== "GET" ? (["capability_not_allowed"] as const) : []),
    // A query parameter that the operation does not name.
    ...(isSigned && !isSent ? (["validation_failed"] as const) : []),
    ...(isSent ? payloadErrors : []),
    ...(isSent && operation?.withoutBody !== true ? bodyErrors : []),
    ...(operation?.errors ?? []),
    "internal_error"
  ]
  return [...new Set(all)]
}

/** The error responses of an operation: every code under its status, with its class. */
export const errorResponsesOf = (route: HttpRoute): Readonly<Record<string, Tree>> => {
  const byStatus = Map.groupBy(errorCodesOf(route), (code) => httpStatusByCode[code])
  const listed = [...byStatus].map(([status, codes]): readonly [string, Tree] => [`${status}`, responseOf(codes)])
  return Object.fromEntries([...listed, ["default", anyOther]])
}

export const exampleComponents: Tree = Object.fromEntries(
  errorExamples.map((error) => {
    const value: unknown = JSON.parse(errorEnvelope(error).body)
    return [error._tag, { summary: `${wireCode(error._tag)} (${classOfCode(error._tag)})`, value }]
  })
)

/** Errors of every request that has a body, and of every body that is read. */
const payloadErrors = ["payload_too_large", "unsupported_media_type"] as const satisfies ReadonlyArray<Code>
const bodyErrors = ["malformed_request", "mode_mismatch", "validation_failed"] as const satisfies ReadonlyArray<Code>

const responseOf = (codes: ReadonlyArray<Code>): Tree => ({
  description: codes.map((code) => `\`${wireCode(code)}\` (${classOfCode(code)})`).join(", "),
  headers: {
    "X-Request-Id": requestId,
    ...(codes.some(hasRetryAfter) ? { "Retry-After": retryAfter } : {}),
    ...(codes.includes("method_not_allowed") ? { Allow: allow } : {})
  },
  content: {
    "application/json": {
      schema: schemaOf(codes),
      examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
    }
  }
})

/** Errors whose response has a `Retry-After` header. */
const hasRetryAfter = (code: Code): boolean => ["rate_limited", "request_in_progress", "provider_error"].includes(code)
const requestId = { description: "Names this request in the gateway's logs", schema: { type: "string" } }
const retryAfter = { description: "When to try again, in seconds from now", schema: { type: "integer" } }
const allow = { description: "The methods that the path answers to", schema: { type: "string" } }

const anyOther = {
  description: "Any other error",
  content: { "application/json": { schema: { $ref: "#/components/schemas/ErrorResponse" } } }
}

/** Responses with one status differ only inside `error`, by its `code`. */
const schemaOf = (codes: ReadonlyArray<Code>): Tree => {
  const refs = codes.map((code) => ({ $ref: `#/components/schemas/${responseSchemaName(code)}` }))
  const [only] = refs
  return only !== undefined && refs.length === 1 ? only : { anyOf: refs }
}

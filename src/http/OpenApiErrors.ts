import { type Code, classOfCode, errorSchemaName, wireCode } from "./api/Errors.ts"
import { statuses } from "./Envelope.ts"
import { isCallbackPath, isSignedPath } from "./HttpRoutes.ts"
import type { Tree } from "./OpenApiSchemas.ts"
import { operations } from "./Operations.ts"

/** The error codes of an operation: its own, and those of the edge for every operation of its kind. */
export const errorCodesOf = (method: string, path: string): ReadonlyArray<Code> => {
  const own = operations[`${method} ${path}`]
  const isSent = (method === "POST" || method === "PUT") && !isCallbackPath(path)
  const all: ReadonlyArray<Code> = [
    ...(isSignedPath(path, path) ? (["unauthorized"] as const) : []),
    ...(isSignedPath(path, path) || isCallbackPath(path) ? (["rate_limited"] as const) : []),
    "cross_origin_denied",
    "method_not_allowed",
    ...(isSent ? payloadErrors : []),
    ...(isSent && own?.withoutBody !== true ? bodyErrors : []),
    ...(own?.errors ?? []),
    "internal_error"
  ]
  return [...new Set(all)]
}

/** The error responses of an operation: every code under its status, with its class. */
export const errorResponses = (method: string, path: string): Readonly<Record<string, Tree>> => {
  const byStatus = Map.groupBy(errorCodesOf(method, path), (code) => statuses[code])
  const listed = [...byStatus].map(([status, codes]): readonly [string, Tree] => [
    `${status}`,
    {
      description: codes.map((code) => `\`${wireCode(code)}\` (${classOfCode(code)})`).join(", "),
      ...(codes.some(hasRetryAfter) ? { headers: { "Retry-After": retryAfter } } : {}),
      content: { "application/json": { schema: envelopeOf(status, codes) } }
    }
  ])
  return Object.fromEntries([...listed, ["default", anyOther]])
}

const anyOther = {
  description: "Any other error",
  content: { "application/json": { schema: { $ref: "#/components/schemas/ErrorResponse" } } }
}

const retryAfter = { description: "Seconds to wait", schema: { type: "integer" } }

/** Errors of every request that has a body, and of every body that is read. */
const payloadErrors = ["payload_too_large", "unsupported_media_type"] as const satisfies ReadonlyArray<Code>
const bodyErrors = ["malformed_request", "mode_mismatch", "validation_failed"] as const satisfies ReadonlyArray<Code>

/** Errors whose response says when to ask again. */
const hasRetryAfter = (code: Code): boolean => code === "rate_limited" || code === "request_in_progress"

const envelopeOf = (status: number, codes: ReadonlyArray<Code>): Tree => {
  const properties = {
    code: { type: "integer", enum: [status], description: "The status of the response" },
    message: { type: "string", description: "For people; do not match on it" },
    error: errorOf(codes)
  }
  return { type: "object", properties, required: Object.keys(properties) }
}

const errorOf = (codes: ReadonlyArray<Code>): Tree => {
  const refs = codes.map((code) => ({ $ref: `#/components/schemas/${errorSchemaName(code)}` }))
  const [only] = refs
  if (only !== undefined && refs.length === 1) return only
  const mapping = Object.fromEntries(codes.map((code, at) => [wireCode(code), refs[at]?.$ref]))
  return { oneOf: refs, discriminator: { propertyName: "code", mapping } }
}

import { Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { AmbiguousError } from "../domain/errors/Ambiguous.ts"
import { RetriableError } from "../domain/errors/Retriable.ts"
import { TerminalError } from "../domain/errors/Terminal.ts"
import type { ApiError } from "../services/ports/ResponseEncoder.ts"
import { Api } from "./Api.ts"
import { type ErrorClass, statuses } from "./Envelope.ts"
import { isCallbackPath, isSignedPath } from "./HttpRoutes.ts"
import { isNever, isTree, requestSchema, responseSchema, type Tree } from "./OpenApiSchemas.ts"
import { examples, type Operation, operations } from "./Operations.ts"

type Code = ApiError["_tag"]

/**
 * The API in OpenAPI 3.1 (`GET /openapi.json`). Paths and schemas are those that the endpoints decode and respond with; errors are the
 * domain's own, with their status and class.
 */
export const describeInterface = (): Tree => {
  const described = OpenApi.fromApi(Api)
  const paths = Object.entries(described.paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(item).flatMap(([method, operation]) =>
        isTree(operation) ? [[method, operationOf(method.toUpperCase(), path, operation)]] : []
      )
    )
  ])
  return {
    openapi: "3.1.0",
    info: {
      title: "Payment gateway",
      version: VERSION,
      description: ABOUT,
      license: { name: "Proprietary", identifier: "LicenseRef-Proprietary" }
    },
    servers: [{ url: "/" }],
    tags: described.tags.map(({ name }) => ({ name, description: `Operations of ${name}` })),
    paths: Object.fromEntries(paths),
    components: {
      schemas: { ...treeOf(responseSchema(described.components.schemas)), ...errorSchemas() },
      securitySchemes: Object.fromEntries(
        Object.entries(signing).map(([name, [header, description]]) => [
          name,
          { type: "apiKey", in: "header", name: header, description }
        ])
      )
    }
  }
}

/** The error codes of an operation: its own, and those of the edge for every operation of its kind. */
export const errorCodesOf = (method: string, path: string): ReadonlyArray<Code> => {
  const own = operations[`${method} ${path}`]
  const isSent = (method === "POST" || method === "PUT") && !isCallbackPath(path)
  const all: ReadonlyArray<Code> = [
    ...(isSignedPath(path, path) ? (["unauthorized"] as const) : []),
    ...(isSignedPath(path, path) || isCallbackPath(path) ? (["rate_limited"] as const) : []),
    "cross_origin_denied",
    ...(isSent ? payloadErrors : []),
    ...(isSent && own?.withoutBody !== true ? bodyErrors : []),
    ...(own?.errors ?? []),
    "internal_error"
  ]
  return [...new Set(all)]
}

export const errorSchemaName = (code: Code): string => `Error_${code}`

const VERSION = "1.0.0"
const ABOUT =
  "Amounts are integers of the currency's smallest unit. Every answer is one envelope; exactly one of `terminal`, `retriable` and " +
  "`ambiguous` is true on an error: branch on it and on `error.code`, never on the message. Members that are not named here are " +
  "ignored in requests and listed in `X-Gateway-Ignored`."

const signing = {
  key: ["X-Gateway-Key", "`<app_id>.<key_id>.<api_key>`"],
  timestamp: ["X-Gateway-Timestamp", "Unix time in seconds, at most 120 s old and 30 s ahead"],
  nonce: ["X-Gateway-Nonce", "16 to 64 characters of `A-Z a-z 0-9 _ -`, never used before"],
  signature: [
    "X-Gateway-Signature",
    "`v1=` and the lower-case hex HMAC-SHA256 of ten lines: `v1`, app id, key id, host, method, path, canonical query, timestamp, nonce, hex SHA-256 of the body"
  ]
} as const

/** Errors of every request that has a body, and of every body that is read. */
const payloadErrors = ["payload_too_large", "unsupported_media_type"] as const satisfies ReadonlyArray<Code>
const bodyErrors = ["malformed_request", "mode_mismatch", "validation_failed"] as const satisfies ReadonlyArray<Code>

const operationOf = (method: string, path: string, operation: Tree): Tree => {
  const own = operations[`${method} ${path}`]
  if (own === undefined) throw new Error(`${method} ${path} is not among the described operations`)
  const { answer, request } = examples[`${method} ${path}`] ?? {}
  const { description: _, parameters, requestBody, responses, security: __, ...rest } = operation
  return {
    ...rest,
    summary: own.summary,
    security: isSignedPath(path, path) ? [Object.fromEntries(Object.keys(signing).map((name) => [name, []]))] : [],
    parameters: [...(Array.isArray(parameters) ? parameters.map(responseSchema) : []), ...headerParameters(own)],
    ...(isCallbackPath(path) ? { requestBody: { required: true, content: { "*/*": {} } } } : {}),
    ...(isTree(requestBody) ? { requestBody: withExample(treeOf(requestSchema(requestBody)), request) } : {}),
    responses: Object.fromEntries(
      Object.entries({ ...successes(treeOf(responses), own, isTree(requestBody)), ...failures(method, path) }).map(
        ([status, response]) => [
          status,
          withExample(response, isTree(answer) && status === `${answer["code"]}` ? answer : undefined)
        ]
      )
    )
  }
}

const headerParameters = ({ headers = {}, idempotencyKey }: Operation): ReadonlyArray<Tree> => [
  ...(idempotencyKey === undefined
    ? []
    : [
        {
          name: "Idempotency-Key",
          in: "header",
          required: idempotencyKey === "required",
          description: "The same key again answers with the first answer and moves nothing twice",
          schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" }
        }
      ]),
  ...Object.entries(headers).map(([name, { description, required }]) => ({
    name,
    in: "header",
    required,
    description,
    schema: { type: "string" }
  }))
]

const header = (description: string) => ({ description, schema: { type: "string" } })

const successes = (
  responses: Tree,
  { responseHeaders = {}, idempotencyKey }: Operation,
  hasBody: boolean
): Readonly<Record<string, Tree>> =>
  Object.fromEntries(
    Object.entries(responses)
      .filter(([status, response]) => status.startsWith("2") && !isNever(schemaOf(response)))
      .map(([status, response]) => [
        status,
        {
          ...treeOf(responseSchema(response)),
          headers: {
            "X-Request-Id": header("Names this request in the gateway's logs"),
            ...(hasBody ? { "X-Gateway-Ignored": header("The members that were ignored, where there were any") } : {}),
            ...(idempotencyKey === undefined
              ? {}
              : { "Idempotency-Replayed": header("`true` where the answer was given before") }),
            ...Object.fromEntries(Object.entries(responseHeaders).map(([name, description]) => [name, header(description)]))
          }
        }
      ])
  )

/** The error responses: every code under its status, with its class. */
const failures = (method: string, path: string): Readonly<Record<string, Tree>> => {
  const byStatus = Map.groupBy(errorCodesOf(method, path), (code) => statuses[code])
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `\`${wireCode(code)}\` (${classes.get(code)})`).join(", "),
        ...(codes.some(hasRetryAfter) ? { headers: { "Retry-After": header("Seconds to wait") } } : {}),
        content: {
          "application/json": {
            schema: anyOf(codes.map((code) => ({ $ref: `#/components/schemas/${errorSchemaName(code)}` })))
          }
        }
      }
    ])
  )
}

/** Errors whose response says when to ask again. */
const hasRetryAfter = (code: Code): boolean => code === "rate_limited" || code === "request_in_progress"

const anyOf = (schemas: ReadonlyArray<Tree>): Tree =>
  schemas.length === 1 && schemas[0] !== undefined ? schemas[0] : { anyOf: schemas }

const withExample = (holder: Tree, example: unknown): Tree => {
  const content = holder["content"]
  if (example === undefined || !isTree(content)) return holder
  const json = content["application/json"]
  return isTree(json) ? { ...holder, content: { ...content, "application/json": { ...json, example } } } : holder
}

const classMembers = [
  ...TerminalError.members.map((member) => ({ fields: member.fields, errorClass: "terminal" as const })),
  ...RetriableError.members.map((member) => ({ fields: member.fields, errorClass: "retriable" as const })),
  ...AmbiguousError.members.map((member) => ({ fields: member.fields, errorClass: "ambiguous" as const }))
]
const codeOf = (fields: (typeof classMembers)[number]["fields"]): Code => fields._tag.schema.literal
const classes = new Map(classMembers.map(({ errorClass, fields }) => [codeOf(fields), errorClass]))

const errorSchemas = (): Tree =>
  Object.fromEntries(
    classMembers.map(({ errorClass, fields }) => {
      const code = codeOf(fields)
      const { _tag, ...details } = fields
      const { schema } = Schema.toJsonSchemaDocument(Schema.Struct(details))
      return [errorSchemaName(code), errorSchema(code, errorClass, responseSchema(schema))]
    })
  )

const errorSchema = (code: Code, errorClass: ErrorClass, details: unknown): Tree => {
  const members = {
    code: { const: wireCode(code) },
    message: { type: "string" },
    terminal: { const: errorClass === "terminal" },
    retriable: { const: errorClass === "retriable" },
    ambiguous: { const: errorClass === "ambiguous" },
    details
  }
  const error = { type: "object", properties: members, required: Object.keys(members), additionalProperties: false }
  const properties = { code: { const: statuses[code] }, message: { type: "string" }, error }
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false }
}

/** Malformed text and malformed fields share one code and differ in their status. */
const wireCode = (code: Code): string => (code === "malformed_request" ? "validation_failed" : code)

const schemaOf = (response: unknown): unknown => treeOf(treeOf(treeOf(response)["content"])["application/json"])["schema"]

const treeOf = (node: unknown): Tree => (isTree(node) ? node : {})

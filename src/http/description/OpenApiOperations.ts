import { examples, type Operation, operations } from "../api/Operations.ts"
import { PARAMETER } from "../api/Page.ts"
import { isCallbackPath, isSignedPath } from "../edge/HttpRoutes.ts"
import { errorResponsesOf } from "./OpenApiErrors.ts"
import { isNever, isTree, type Tree, treeOf, wireSchema } from "./OpenApiSchemas.ts"
import { endpointCallbacks } from "./OpenApiWebhooks.ts"
import { operationTexts } from "./OperationTexts.ts"
import { EXAMPLE_ORIGIN, signedCurl } from "./SignedCurl.ts"

const signing = {
  key: ["X-Gateway-Key", "`<app_id>.<key_id>.<api_key>`"],
  timestamp: ["X-Gateway-Timestamp", "Unix time in seconds, at most 120 s old and 30 s ahead"],
  nonce: ["X-Gateway-Nonce", "16 to 64 characters of `A-Z a-z 0-9 _ -`, never used before"],
  signature: [
    "X-Gateway-Signature",
    "`v1=` and the lower-case hex HMAC-SHA256 of ten lines: `v1`, app id, key id, host, method, path, canonical query, timestamp, nonce, hex SHA-256 of the body"
  ]
} as const

/** The four headers of a signed request. */
export const securitySchemes: Tree = Object.fromEntries(
  Object.entries(signing).map(([name, [header, description]]) => [
    name,
    { type: "apiKey", in: "header", name: header, description }
  ])
)

/** A generated operation with what its schemas do not say: its summary, security, headers, errors and examples. */
export const operationOf = (method: string, path: string, operation: Tree): Tree => {
  const own = operations[`${method} ${path}`]
  const text = operationTexts[`${method} ${path}`]
  if (own === undefined || text === undefined) throw new Error(`${method} ${path} is not among the described operations`)
  const { answer, request } = examples[`${method} ${path}`] ?? {}
  const { description: _, parameters, requestBody, responses, security: __, ...rest } = operation
  return {
    ...rest,
    ...text,
    security: isSignedPath(path, path) ? [Object.fromEntries(Object.keys(signing).map((name) => [name, []]))] : [],
    parameters: [
      ...(Array.isArray(parameters) ? parameters.map(parameterOf) : []),
      ...(own.parameters ?? []),
      ...headerParameters(own)
    ],
    ...(isCallbackPath(path) ? { requestBody: { required: true, content: { "*/*": {} } } } : {}),
    ...(isTree(requestBody) ? { requestBody: withExample(treeOf(wireSchema(requestBody)), request) } : {}),
    ...sampleOf(method, path, own, request),
    ...(`${method} ${path}` === "PUT /v1/webhooks/endpoint" ? { callbacks: endpointCallbacks } : {}),
    responses: Object.fromEntries(
      Object.entries({ ...successes(treeOf(responses), own, isTree(requestBody)), ...errorResponsesOf(method, path) }).map(
        ([status, response]) => [
          status,
          withExample(response, isTree(answer) && status === `${answer["code"]}` ? answer : undefined)
        ]
      )
    )
  }
}

/** How to send it from a shell, where it is for tenants to send. */
const sampleOf = (method: string, path: string, own: Operation, body: unknown): Tree => {
  if (isCallbackPath(path)) return {}
  const headers = Object.entries(own.headers ?? {}).filter(([, { required }]) => required)
  const source = isSignedPath(path, path)
    ? signedCurl({
        method,
        path,
        body,
        hasKey: own.idempotencyKey !== undefined,
        // The one that is required repeats the tenant's name.
        headers: Object.fromEntries(headers.map(([name]) => [name, "$APP_ID"]))
      })
    : `curl -sS ${EXAMPLE_ORIGIN}${path}\n`
  return { "x-codeSamples": [{ lang: "shell", label: "curl", source }] }
}

/** A parameter's description is found beside its schema, not in it. */
const parameterOf = (parameter: unknown): Tree => {
  const { schema, ...rest } = treeOf(wireSchema(parameter))
  const { [PARAMETER]: instead, description, ...plain } = treeOf(schema)
  return { ...rest, ...(description === undefined ? {} : { description }), schema: isTree(instead) ? instead : plain }
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
      .filter(([status]) => status.startsWith("2"))
      .map(([status, response]) =>
        isNever(schemaOf(response))
          ? ["2XX", never]
          : [
              status,
              {
                ...treeOf(wireSchema(response)),
                headers: {
                  "X-Request-Id": header("Names this request in the gateway's logs"),
                  ...(hasBody ? { "X-Gateway-Ignored": header("The members that were ignored, where there were any") } : {}),
                  ...(idempotencyKey === undefined
                    ? {}
                    : { "Idempotency-Replayed": header("`true` where the answer was given before") }),
                  ...Object.fromEntries(Object.entries(responseHeaders).map(([name, description]) => [name, header(description)]))
                }
              }
            ]
      )
  )

/** An operation that always fails, so far. */
const never = { description: "Not answered yet: every request is refused" }

const withExample = (holder: Tree, example: unknown): Tree => {
  const content = holder["content"]
  if (example === undefined || !isTree(content)) return holder
  const json = content["application/json"]
  return isTree(json) ? { ...holder, content: { ...content, "application/json": { ...json, example } } } : holder
}

const schemaOf = (response: unknown): unknown => treeOf(treeOf(treeOf(response)["content"])["application/json"])["schema"]

import executed from "../api/examples.json" with { type: "json" }
import { headerParameter, type Operation } from "../api/Operation.ts"
import { PARAMETER } from "../api/Page.ts"
import { type HttpRoute, isCallbackPath, isSignedPath, routes } from "../edge/HttpRoutes.ts"
import { errorResponsesOf } from "./OpenApiErrors.ts"
import { isNever, isTree, type Tree, treeOf, wireSchema } from "./OpenApiSchemas.ts"
import { endpointCallbacks } from "./OpenApiWebhooks.ts"
import { EXAMPLE_ORIGIN } from "./SignedCurl.ts"
import { type Sample, signedSamples } from "./SignedSamples.ts"

/** A request body and its response body. Of a list only the first row. */
export interface Example {
  readonly request?: unknown
  readonly answer: unknown
}

/** By route name. `test/scenarios/requests/Examples.test.ts` sends every request and compares the response with this file. */
export const examples: Readonly<Record<string, Example>> = executed

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

/** Completes the generated operation of a route with what its schemas cannot express: security, headers, errors and examples. */
export const operationOf = (name: string, generated: Tree): Tree => {
  const route = routes.get(name)
  const own = route?.operation
  if (route === undefined || own === undefined) throw new Error(`${name} does not say what it is`)
  const isSigned = isSignedPath(route.template, route.template)
  const isCallback = isCallbackPath(route.template)
  const { answer, request } = examples[name] ?? {}
  const { parameters, requestBody, responses, ...rest } = generated
  return {
    ...rest,
    security: isSigned ? [Object.fromEntries(Object.keys(signing).map((part) => [part, []]))] : [],
    parameters: [
      ...(Array.isArray(parameters) ? parameters.map(parameterOf) : []),
      ...(own.idempotencyKey === undefined ? [] : [idempotencyKey(own.idempotencyKey === "required")]),
      ...(own.parameters ?? [])
    ],
    ...(isCallback ? { requestBody: { required: true, content: { "*/*": {} } } } : {}),
    ...(isTree(requestBody) ? { requestBody: withExample(treeOf(wireSchema(requestBody)), request) } : {}),
    ...(isCallback ? {} : { "x-codeSamples": samplesOf(route, own, isSigned, request) }),
    ...(endpointCallbacks[name] === undefined ? {} : { callbacks: endpointCallbacks[name] }),
    responses: Object.fromEntries(
      Object.entries({ ...successes(treeOf(responses), own, isTree(requestBody)), ...errorResponsesOf(route) }).map(
        ([status, response]) => [
          status,
          withExample(response, isTree(answer) && status === `${answer["code"]}` ? answer : undefined)
        ]
      )
    )
  }
}

const samplesOf = (
  { method, template }: HttpRoute,
  own: Operation["Service"],
  isSigned: boolean,
  body: unknown
): ReadonlyArray<Sample> => {
  if (!isSigned) return [{ lang: "shell", label: "curl", source: `curl -sS ${EXAMPLE_ORIGIN}${template}\n` }]
  const headers = (own.parameters ?? []).filter((parameter) => parameter.in === "header" && parameter.required)
  return signedSamples({
    method,
    path: template,
    body,
    hasKey: own.idempotencyKey !== undefined,
    // A required header of ours repeats the tenant's name.
    headers: Object.fromEntries(headers.map(({ name }) => [name, "$APP_ID"]))
  })
}

/** A parameter's description is found beside its schema, not in it. */
const parameterOf = (parameter: unknown): Tree => {
  const { schema, ...rest } = treeOf(wireSchema(parameter))
  const { [PARAMETER]: instead, description, ...plain } = treeOf(schema)
  return { ...rest, ...(description === undefined ? {} : { description }), schema: isTree(instead) ? instead : plain }
}

const idempotencyKey = (required: boolean) =>
  headerParameter("Idempotency-Key", "The same key again answers with the first answer and moves nothing twice", required, {
    minLength: 1,
    maxLength: 255,
    pattern: "^[\\x20-\\x7e]+$"
  })

const header = (description: string) => ({ description, schema: { type: "string" } })

const successes = (
  responses: Tree,
  { responseHeaders = {}, idempotencyKey, isAlsoCsv }: Operation["Service"],
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
                ...(isAlsoCsv === true ? withCsv(treeOf(wireSchema(response))) : treeOf(wireSchema(response))),
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

const withCsv = (response: Tree): Tree => ({
  ...response,
  content: { ...treeOf(response["content"]), "text/csv": { schema: { type: "string" } } }
})

/** An operation that always refuses. */
const never = { description: "Not answered yet: every request is refused" }

const withExample = (holder: Tree, example: unknown): Tree => {
  const content = holder["content"]
  if (example === undefined || !isTree(content)) return holder
  const json = content["application/json"]
  return isTree(json) ? { ...holder, content: { ...content, "application/json": { ...json, example } } } : holder
}

const schemaOf = (response: unknown): unknown => treeOf(treeOf(treeOf(response)["content"])["application/json"])["schema"]

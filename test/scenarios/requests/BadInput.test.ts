import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Capability } from "../../../src/domain/Tenant.ts"
import { isTree, type Tree } from "../../../src/http/description/OpenApiSchemas.ts"
import { changed, type Field, fieldsOf } from "../../support/BodyFields.ts"
import { bodySchemaOf, interfaceDescription } from "../../support/InterfaceDescription.ts"
import type { Answer } from "../../support/SignedClient.ts"
import { keyOn, Stack, tenantOn } from "../../support/Stack.ts"

const MARK = "Zq7xMark"
const LONG = MARK.repeat(1200)
const REFERENCE = "0123456789ABCDEFGHJKMNPQRS"

const entries = (node: unknown): ReadonlyArray<[string, unknown]> => (isTree(node) ? Object.entries(node) : [])
const operations = entries(interfaceDescription()["paths"]).flatMap(([path, item]) =>
  entries(item).flatMap(([method, operation]) => (isTree(operation) ? [{ method: method.toUpperCase(), path, operation }] : []))
)
const signed = operations.filter(({ path }) => path.startsWith("/v1/"))
const withBody = signed.flatMap(({ method, operation, path }) => {
  const schema = bodySchemaOf(operation)
  return schema === undefined ? [] : [{ method, path, fields: fieldsOf(schema) }]
})
const target = (path: string, value = REFERENCE) => path.replace("{name}", "erp").replace(/\{\w+\}/g, value)

/** A wrong value for a field, as JSON; undefined leaves the field out. */
interface Wrong {
  readonly what: string
  readonly value: unknown
  /** False where the field may still be right. */
  readonly refused?: boolean
}

const isAmount = ({ path }: Field) => path.length === 1 && path.join().endsWith("_minor")
const isCurrency = ({ path }: Field) => path.length === 1 && /(?:^|_)currency$/.test(path.join())

const wrongs = ({ required, schema }: Field): ReadonlyArray<Wrong> => {
  const choices = Array.isArray(schema["anyOf"])
    ? schema["anyOf"].map((one) => String(one.type))
    : [String(schema["type"] ?? "object")]
  const [type = "object"] = choices.filter((one) => one !== "null")
  const others = { string: MARK, integer: 7, boolean: true, object: { [MARK]: MARK }, array: [[MARK]] }
  return [
    { what: "missing", value: undefined, refused: required },
    { what: "null", value: null, refused: !choices.includes("null") },
    ...Object.entries(others)
      .filter(([name]) => name !== type)
      .map(([name, value]) => ({ what: `of type ${name}`, value })),
    ...(type === "string"
      ? [
          { what: "empty", value: "" },
          { what: "blank", value: "  " },
          { what: "too long", value: LONG },
          { what: "with NUL", value: `${MARK}\u0000` },
          { what: "with a lone surrogate", value: `${MARK}\ud800` },
          { what: "with odd Unicode", value: "\u202e💸\u0301\ufeff٣", refused: false }
        ]
      : []),
    ...(type === "integer" ? [0, -1, 1.5, 1e300].map((value) => ({ what: String(value), value })) : [])
  ]
}

const codeOf = (field: Field, { value }: Wrong): string =>
  isCurrency(field) && typeof value === "string"
    ? "unknown_currency"
    : isAmount(field) && typeof value === "number" && !/^-?\d+$/.test(String(value))
      ? "inexact_amount"
      : "validation_failed"

/** The answer as one line to compare. */
const said = ({ body, status }: Answer): string => `${status} ${body.error === undefined ? "" : body.error["code"]}`

const issuesOf = ({ body }: Answer): ReadonlyArray<string> => {
  const issues: unknown = body.error?.["details"]?.["issues"]
  return Array.isArray(issues) ? issues.map(({ path }) => String(path)) : []
}

/** What is wrong with the answer to a wrong field; nothing where it is right. */
const mistake = (field: Field, wrong: Wrong, answer: Answer): string | undefined => {
  const where = `${field.name} ${wrong.what}`
  if (answer.status >= 500 && answer.status !== 501 && answer.status !== 503) return `${where}: ${said(answer)}`
  // The contract shows the code of a currency that it does not know.
  if (!isCurrency(field) && answer.text.includes(MARK)) return `${where}: shows the value: ${answer.text}`
  if (wrong.refused === false) return undefined
  const wanted = `422 ${codeOf(field, wrong)}`
  if (said(answer) !== wanted) return `${where}: ${said(answer)}, not ${wanted}`
  const [first] = field.path
  const isNamed = wanted !== "422 validation_failed" || issuesOf(answer).some((path) => path.split(".")[0] === first)
  return isNamed ? undefined : `${where}: names ${issuesOf(answer).join()}`
}

const twice = (body: Tree, [name = "", ...rest]: ReadonlyArray<string>): string => {
  const inner = body[name]
  const text = (value: unknown) => JSON.stringify(value)
  const member = rest.length === 0 ? `${text(name)}:${text(inner)},${text(name)}:${text(inner)}` : undefined
  const others = Object.entries(body).filter(([other]) => other !== name)
  const own = member ?? `${text(name)}:${twice(isTree(inner) ? inner : {}, rest)}`
  return `{${[...others.map(([other, value]) => `${text(other)}:${text(value)}`), own].join(",")}}`
}

const RATES_OFF = { RATE_LIMIT_MONEY: "off", RATE_LIMIT_READS: "off" }
/** A key may resolve 30 accounts a minute. */
const CALLS_A_KEY = 25

/** A client that goes on with a new key before the old one has asked too often. */
const patient = Effect.gen(function* () {
  const { gateway } = yield* Stack
  const tenant = yield* tenantOn(gateway, 0n, { capabilities: Capability.literals })
  let calls = 0
  let client = tenant
  return Effect.fnUntraced(function* (method: string, path: string, body?: unknown) {
    if (++calls % CALLS_A_KEY === 0 && path.includes("resolve")) client = yield* keyOn(gateway, tenant.appId, "live")
    // The limit of a tenant is reached as well.
    if (calls % CALLS_A_KEY === 0 && path.includes("search")) client = yield* tenantOn(gateway, 0n)
    return yield* client.call(method, path, body, { "idempotency-key": `k-${calls}` })
  })
})

describe("bad input", () => {
  layer(Stack.layer(RATES_OFF), { excludeTestServices: true })((it) => {
    for (const { fields, method, path } of withBody)
      it.effect(`is refused in every field of ${method} ${path}, by the field's name and without showing the value`, () =>
        Effect.gen(function* () {
          const send = yield* patient
          const mistakes: Array<string | undefined> = []
          for (const field of fields) {
            for (const wrong of wrongs(field)) {
              const answer = yield* send(method, target(path), changed(field.body, field.path, wrong.value))
              mistakes.push(mistake(field, wrong, answer))
            }
            const doubled = yield* send(method, target(path), twice(field.body, field.path))
            if (said(doubled) !== "400 validation_failed") mistakes.push(`${field.name} twice: ${said(doubled)}`)
          }
          for (const body of ["[]", '"text"', "7", "null"]) {
            const answer = yield* send(method, target(path), body)
            if (said(answer) !== "422 validation_failed") mistakes.push(`${body}: ${said(answer)}`)
          }
          for (const body of ["{", "{} {}", "\ufeff{}", "nul", ""]) {
            const answer = yield* send(method, target(path), body)
            if (said(answer) !== "400 validation_failed") mistakes.push(`${JSON.stringify(body)}: ${said(answer)}`)
          }
          expect(mistakes.filter((line) => line !== undefined)).toEqual([])
        })
      )

    it.effect("in a path is always 404", () =>
      Effect.gen(function* () {
        const send = yield* patient
        const odd = [MARK, "x".repeat(101), "%00", "%F0%9F%92%B8", "a%2Fb", "..%2f", "%ff", "'", "a;b", "%20"]
        for (const { method, path } of signed.filter((one) => one.path.includes("{")))
          for (const value of odd) {
            const answer = yield* send(method, target(path, value), method === "GET" ? undefined : {})
            expect(answer.status, `${method} ${target(path, value)}: ${answer.text}`).toBeGreaterThanOrEqual(
              path.includes("{country}") ? 400 : method === "GET" ? 404 : 400
            )
            expect(answer.status, `${method} ${target(path, value)}`).toBeLessThan(500)
            expect(answer.text).not.toContain(MARK)
          }
      })
    )

    it.effect("in a query is refused or ignored, and the value never shown", () =>
      Effect.gen(function* () {
        const send = yield* patient
        const odd = ["", MARK, LONG.slice(0, 4000), "0", "-1", "1.5", "1e3", "%00", "%F0%9F%92%B8", "null", "[]"]
        for (const { method, operation, path } of signed.filter((one) => one.method === "GET")) {
          const parameters = [operation["parameters"]]
            .flat()
            .flatMap((one) => (isTree(one) && one["in"] === "query" ? [one] : []))
          for (const name of [...parameters.map((parameter) => String(parameter["name"])), "unknown"])
            for (const query of [...odd.map((value) => `${name}=${value}`), name, `${name}=1&${name}=2`]) {
              const answer = yield* send(method, `${target(path)}?${query}`)
              const is503 = answer.status === 503 && said(answer) === "503 provider_error"
              expect(answer.status < 500 || is503, `${method} ${path}?${query.slice(0, 60)}: ${answer.text}`).toBe(true)
              expect(answer.text).not.toContain(MARK)
            }
        }
      })
    )
  })
})

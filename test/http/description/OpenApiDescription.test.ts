import { describe, expect, it } from "vitest"
import { httpStatusByCode } from "../../../src/http/api/Envelope.ts"
import { errorSchemaName, responseSchemaName, wireCode } from "../../../src/http/api/Errors.ts"
import { errorCodesOf } from "../../../src/http/description/OpenApiErrors.ts"
import { isTree, type Tree } from "../../../src/http/description/OpenApiSchemas.ts"
import { routes } from "../../../src/http/edge/HttpRoutes.ts"
import { onEdge } from "../../support/EdgeClient.ts"
import { interfaceDescription } from "../../support/InterfaceDescription.ts"
import { breaches, resolved } from "../../support/JsonSchema.ts"

const document = interfaceDescription()
const trees = (node: unknown): ReadonlyArray<[string, Tree]> =>
  Object.entries(isTree(node) ? node : {}).flatMap(([name, inner]) => (isTree(inner) ? [[name, inner]] : []))

/** Every object anywhere in the description. */
const everywhere = (node: unknown): ReadonlyArray<Tree> =>
  Array.isArray(node) ? node.flatMap(everywhere) : isTree(node) ? [node, ...Object.values(node).flatMap(everywhere)] : []

/** The operations that the contract names (ENV-8). */
const contract = {
  "/docs": ["GET"],
  "/health": ["GET"],
  "/health/detail": ["GET"],
  "/openapi.json": ["GET"],
  "/v1/balances": ["GET"],
  "/v1/beneficiaries": ["GET", "DELETE"],
  "/v1/beneficiaries/{id}": ["GET"],
  "/v1/capabilities": ["GET"],
  "/v1/collections": ["POST"],
  "/v1/collections/otp": ["POST"],
  "/v1/collections/{reference}": ["GET"],
  "/v1/collections/{reference}/authorize": ["POST"],
  "/v1/float": ["GET"],
  "/v1/float/entries": ["GET"],
  "/v1/float/alerts": ["GET", "PUT"],
  "/v1/fx/exchange": ["POST"],
  "/v1/fx/exchanges": ["GET"],
  "/v1/fx/exchanges/{reference}": ["GET"],
  "/v1/fx/quote": ["POST"],
  "/v1/limits": ["GET"],
  "/v1/payouts": ["POST"],
  "/v1/payouts/quote": ["POST"],
  "/v1/payouts/quotes": ["POST"],
  "/v1/payouts/{reference}": ["GET"],
  "/v1/reference/banks/{country}": ["GET"],
  "/v1/reference/banks/{country}/{bank_code}/branches": ["GET"],
  "/v1/reference/corridors": ["GET"],
  "/v1/reference/countries": ["GET"],
  "/v1/reference/resolve-bank-account": ["POST"],
  "/v1/refunds": ["POST"],
  "/v1/transactions": ["GET"],
  "/v1/transactions/search": ["POST"],
  "/v1/transactions/{id}": ["GET"],
  "/v1/events": ["GET"],
  "/v1/webhooks/deliveries": ["GET"],
  "/v1/webhooks/deliveries/{id}/redeliver": ["POST"],
  "/v1/webhooks/endpoint": ["GET", "PUT", "DELETE"],
  "/v1/webhooks/endpoint/rotate-secret": ["POST"],
  "/v1/webhooks/endpoint/test": ["POST"],
  "/v1/webhooks/endpoints": ["GET"],
  "/v1/webhooks/endpoints/{name}": ["GET", "PUT", "DELETE"],
  "/v1/webhooks/endpoints/{name}/rotate-secret": ["POST"],
  "/v1/webhooks/endpoints/{name}/test": ["POST"],
  "/v1/webhooks/recover": ["POST"],
  "/webhooks/{provider}/{route_key}": ["POST", "PUT"],
  "/webhooks/{provider}/{route_key}/{part}": ["POST"]
}

const all = trees(document["paths"]).flatMap(([path, item]) =>
  trees(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation }))
)
const list = (node: unknown): ReadonlyArray<Tree> => (Array.isArray(node) ? node.filter(isTree) : [])
const described = [...routes.values()].filter(({ operation }) => operation !== undefined)
const contents = (holder: Tree) => trees(holder["content"]).map(([type, media]) => ({ type, media }))

describe("the OpenAPI description", () => {
  it("has one operation id each, a summary, a known tag and a response", () => {
    const ids = all.map(({ operation }) => operation["operationId"])
    expect(new Set(ids).size).toBe(ids.length)
    const tags = list(document["tags"]).map(({ name }) => name)
    for (const { method, operation, path } of all) {
      expect(operation["summary"], `${method} ${path}`).toMatch(/\S/)
      expect(tags).toEqual(expect.arrayContaining([operation["tags"]].flat()))
      expect(Object.keys(isTree(operation["responses"]) ? operation["responses"] : {})).toContain("500")
    }
  })

  it("has every operation of the contract and no other", () => {
    const named = Object.entries(contract).flatMap(([path, methods]) => methods.map((method) => `${method} ${path}`))
    expect(all.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(named.sort())
  })

  it("has no reference to a schema that does not exist", () => {
    const refs = everywhere(document).flatMap((tree) => (typeof tree["$ref"] === "string" ? [tree["$ref"]] : []))
    expect(refs.length).toBeGreaterThan(100)
    expect(refs.filter((ref) => resolved(document, ref) === undefined)).toEqual([])
    const names = trees(document["components"]).flatMap(([, components]) => Object.keys(components))
    expect(names.filter((name) => !/^[A-Za-z0-9._-]+$/.test(name))).toEqual([])
  })

  it("declares every parameter of a path once, and no other", () => {
    for (const { method, operation, path } of all) {
      const inPath = list(operation["parameters"]).filter((parameter) => parameter["in"] === "path")
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(inPath.map(({ name }) => name).sort(), `${method} ${path}`).toEqual(named.sort())
      expect(inPath.every(({ required }) => required === true)).toBe(true)
      const keys = list(operation["parameters"]).map((parameter) => `${parameter["in"]} ${parameter["name"]}`)
      expect(new Set(keys).size).toBe(keys.length)
      expect(list(operation["parameters"]).every(({ schema }) => isTree(schema))).toBe(true)
    }
  })

  it("gives every answer a description and a schema that a validator understands", () => {
    for (const { method, operation, path } of all) {
      for (const [status, response] of trees(operation["responses"])) {
        const where = `${method} ${path} ${status}`
        expect(response["description"], where).toEqual(expect.any(String))
        if (where !== "POST /v1/refunds 2XX") expect(contents(response), where).not.toEqual([])
        for (const { media } of contents(response)) {
          const unknown = breaches(document, media["schema"], {}).filter((line) => line.includes("unknown keyword"))
          expect(unknown, where).toEqual([])
        }
      }
    }
  })

  it("names every code with its status, its class and its details, on every operation that may answer it", () => {
    const listed = new Set(described.flatMap(errorCodesOf))
    const missing = Object.keys(httpStatusByCode).filter((code) => ![...listed].some((one) => one === code))
    expect(missing).toEqual([])
    for (const route of described)
      for (const code of errorCodesOf(route)) {
        const responses = `#/paths/${route.template.replaceAll("/", "~1")}/${route.method.toLowerCase()}/responses`
        const schema = resolved(document, `${responses}/${httpStatusByCode[code]}/content/application~1json/schema`)
        const choices = isTree(schema) && Array.isArray(schema["anyOf"]) ? schema["anyOf"] : [schema]
        expect(choices, route.name).toContainEqual({ $ref: `#/components/schemas/${responseSchemaName(code)}` })
      }
    for (const code of listed) {
      const members = resolved(document, `#/components/schemas/${errorSchemaName(code)}/properties`)
      expect(resolved({ members }, "#/members/code/enum"), code).toEqual([wireCode(code)])
      const flags = ["terminal", "retriable", "ambiguous"].map((name) => resolved({ members }, `#/members/${name}/enum`))
      expect(flags.flat().toSorted(), code).toEqual([false, false, true])
    }
  })

  it("describes amounts as integers, and has no other kind of number", () => {
    const minor = everywhere(document).flatMap((tree) =>
      trees(tree["properties"]).filter(([name, schema]) => name.endsWith("_minor") && !isTree(schema["properties"]))
    )
    expect(minor.length).toBeGreaterThan(20)
    for (const [name, schema] of minor) expect(JSON.stringify(schema), name).toContain('"type":"integer"')
    expect(everywhere(document).filter(({ type }) => type === "number")).toEqual([])
  })

  it("holds only examples that follow their schemas", () => {
    const examples = everywhere(document).filter((tree) => "example" in tree && isTree(tree["schema"]))
    for (const { example, schema } of examples) expect(breaches(document, schema, example)).toEqual([])
  })

  it(
    "is served without a signature, to its own origin only, as OpenAPI 3.1 of version 1.0.0",
    onEdge(async ({ ask }) => {
      const answer = await ask("GET", "/openapi.json")
      expect(answer.status).toBe(200)
      expect(answer.headers["content-type"]).toBe("application/json")
      expect(JSON.parse(answer.text)).toEqual(document)
      expect(JSON.parse(answer.text)).toMatchObject({ openapi: "3.1.0", info: { version: "1.0.0" } })
      const foreign = [
        ["Host", "api.gateway.example"],
        ["Origin", "https://evil.example"]
      ] as const
      for (const path of ["/openapi.json", "/docs"]) {
        const refused = await ask("GET", path, foreign)
        expect(refused.status).toBe(403)
        expect(Object.keys(refused.headers).filter((name) => name.startsWith("access-control"))).toEqual([])
      }
    })
  )
})

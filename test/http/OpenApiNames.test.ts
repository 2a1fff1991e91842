import { describe, expect, it } from "vitest"
import { isTree, type Tree, treeOf } from "../../src/http/description/OpenApiSchemas.ts"
import { closedDescription, interfaceDescription } from "../support/InterfaceDescription.ts"
import { breaches, inlined, resolved } from "../support/JsonSchema.ts"

// What a client that is generated from the description is made of: names, and words about each of them.

const document = interfaceDescription()
const trees = (node: unknown): ReadonlyArray<[string, Tree]> =>
  Object.entries(treeOf(node)).flatMap(([name, inner]) => (isTree(inner) ? [[name, inner]] : []))
const list = (node: unknown): ReadonlyArray<Tree> => (Array.isArray(node) ? node.filter(isTree) : [])

const schemas = trees(resolved(document, "#/components/schemas"))
const operations = [...trees(document["paths"]), ...trees(document["webhooks"])].flatMap(([path, item]) =>
  trees(item).map(([method, operation]) => ({ where: `${method} ${path}`, operation }))
)

/** Every property in a schema, with its path. */
const properties = (schema: Tree, path: string): ReadonlyArray<[string, Tree]> =>
  trees(schema["properties"]).flatMap(([name, inner]) => [
    [`${path}.${name}`, inner],
    ...properties(inner, `${path}.${name}`),
    ...properties(treeOf(inner["items"]), `${path}.${name}[]`)
  ])
const allProperties = schemas.flatMap(([name, schema]) => properties(schema, name))

const isDescribed = (node: Tree): boolean => {
  const { description } = treeOf(inlined(document, node))
  return typeof description === "string" && /^[A-Z`0-9].{3}/.test(description) && !description.endsWith(".")
}
const choices = (schema: Tree): ReadonlyArray<Tree> => [...list(schema["anyOf"]), ...list(schema["oneOf"])]

describe("a client that is generated from the OpenAPI description", () => {
  it("finds a description of every schema and field, parameter and header, operation and response", () => {
    const described = [
      ...schemas,
      ...allProperties,
      ...operations.flatMap(({ operation, where }) => [
        ...list(operation["parameters"]).map((one): [string, Tree] => [`${where} ${one["name"]}`, one]),
        ...trees(operation["responses"]).flatMap(
          ([status, response]): ReadonlyArray<[string, Tree]> => [
            [`${where} ${status}`, response],
            ...trees(response["headers"]).map(([name, header]): [string, Tree] => [`${where} ${status} ${name}`, header])
          ]
        )
      ])
    ]
    expect(described.length).toBeGreaterThan(1_000)
    expect(described.filter(([, node]) => !isDescribed(node)).map(([name]) => name)).toEqual([])
    const wordless = operations.filter(({ operation }) => !/\w{3}/.test(String(operation["description"])))
    expect(wordless.map(({ where }) => where)).toEqual([])
    const tags = new Set(operations.flatMap(({ operation }) => operation["tags"]))
    expect(new Set(list(document["tags"]).map(({ name }) => name))).toEqual(tags)
  })

  it("meets no union or object without a name, but for what may be null and the details of an error", () => {
    const nameless = allProperties.filter(([name, schema]) => {
      const others = choices(schema).filter(({ type }) => type !== "null")
      return (
        others.length > 1 || others.some((one) => "properties" in one) || ("properties" in schema && !name.endsWith(".details"))
      )
    })
    expect(nameless.map(([name]) => name)).toEqual([])
    for (const { operation, where } of operations)
      for (const body of [operation["requestBody"], ...Object.values(treeOf(operation["responses"]))]) {
        const schema = treeOf(resolved(treeOf(body), "#/content/application~1json/schema"))
        const own = "$ref" in schema ? [schema] : choices(schema)
        expect(
          own.every((one) => "$ref" in one),
          where
        ).toBe(true)
      }
    // A generator numbers a name that is given twice.
    expect(schemas.map(([name]) => name).filter((name) => !/^[A-Z][A-Za-z]+$/.test(name))).toEqual([])
  })

  it("tells the members of a union apart by one field", () => {
    const unions = schemas.filter(([, schema]) => choices(schema).length > 0)
    const told = unions.filter(([, schema]) => "discriminator" in schema).map(([name]) => name)
    expect(told.toSorted()).toEqual([
      "AmbiguousError",
      "Destination",
      "Event",
      "NextAction",
      "RawTransaction",
      "RetriableError",
      "Source",
      "TerminalError",
      "Transaction"
    ])
    expect(
      unions
        .map(([name]) => name)
        .filter((name) => !told.includes(name))
        .toSorted()
    ).toEqual(["Error", "ReadTransaction"])
  })

  // openapi-typescript writes Record<string, never> for an object that says nothing of members, and no metadata can be assigned to that.
  it("may put members into every object that names none", () => {
    const nested = (at: string, schema: Tree): ReadonlyArray<[string, Tree]> => [
      [at, schema],
      ...trees(schema).flatMap(([name, inner]) => nested(`${at}.${name}`, inner))
    ]
    const without = schemas
      .flatMap(([name, schema]) => nested(name, schema))
      .filter(([, { properties, type }]) => type === "object" && properties === undefined)
    expect(without.map(([name]) => name)).toContain("Metadata")
    expect(without.filter(([, schema]) => !("additionalProperties" in schema)).map(([name]) => name)).toEqual([])
  })

  it("has the format of amounts, moments, addresses and pages", () => {
    const named = (pattern: RegExp) => allProperties.filter(([name]) => pattern.test(name))
    const formats = (pattern: RegExp) =>
      new Set(named(pattern).flatMap(([, schema]) => [schema, ...choices(schema)].flatMap(({ format }) => format ?? [])))
    expect(formats(/_minor$/)).toEqual(new Set(["int64"]))
    expect(formats(/(_at|_until|\.timestamp|\.since|\.as_of)$/)).toEqual(new Set(["date-time"]))
    expect(formats(/url$/)).toEqual(new Set(["uri"]))
    expect(formats(/Destination\.email$/)).toEqual(new Set(["email"]))
    const pages = operations.flatMap(({ operation }) => list(operation["parameters"]).filter(({ name }) => name === "limit"))
    expect(pages.map(({ schema }) => schema)).toEqual(
      [20, 20, 50, 50, 50, 50].map((items) => ({ type: "integer", minimum: 1, maximum: 100, default: items }))
    )
  })

  it("gets an example of every error, and each is as its schema says", () => {
    for (const [code, { value }] of trees(resolved(document, "#/components/examples"))) {
      const name = code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
      expect(breaches(closedDescription(), { $ref: `#/components/schemas/${name}Response` }, value), code).toEqual([])
      expect(breaches(closedDescription(), { $ref: "#/components/schemas/ErrorResponse" }, value), code).toEqual([])
    }
  })
})

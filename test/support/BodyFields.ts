import { isTree, type Tree } from "../../src/http/description/OpenApiSchemas.ts"

/** One field of a body, and a body whose other fields are all right. */
export interface Field {
  /** "destination.msisdn" */
  readonly name: string
  readonly path: ReadonlyArray<string>
  readonly schema: Tree
  readonly required: boolean
  readonly body: Tree
}

/** Every field of an object's schema, those of inner objects and of each of their kinds included. */
export const fieldsOf = (schema: unknown, path: ReadonlyArray<string> = [], around = (inner: Tree) => inner): Array<Field> =>
  kindsOf(schema).flatMap((kind) =>
    propertiesOf(kind).flatMap(([name, inner]) => {
      const here = [...path, name]
      const within = (value: unknown) => around({ ...sampleOf(kind), [name]: value })
      const own: Field = {
        name: here.join("."),
        path: here,
        schema: inner,
        required: [kind["required"]].flat().includes(name),
        body: within(sample(inner, name))
      }
      return [own, ...fieldsOf(inner, here, within)]
    })
  )

/** A body with one field changed; undefined leaves it out. */
export const changed = (body: Tree, [name = "", ...rest]: ReadonlyArray<string>, value: unknown): Tree => {
  const inner = body[name]
  return { ...body, [name]: rest.length === 0 ? value : changed(isTree(inner) ? inner : {}, rest, value) }
}

/** The smallest object that a schema allows. */
export const sampleOf = (schema: unknown): Tree => {
  const [kind] = kindsOf(schema)
  const required = kind === undefined ? [] : [kind["required"]].flat()
  return Object.fromEntries(
    (kind === undefined ? [] : propertiesOf(kind))
      .filter(([name]) => required.includes(name))
      .map(([name, inner]) => [name, sample(inner, name)])
  )
}

const kindsOf = (schema: unknown): ReadonlyArray<Tree> => {
  if (!isTree(schema)) return []
  const kinds = schema["oneOf"] ?? schema["anyOf"]
  return Array.isArray(kinds) ? kinds.flatMap(kindsOf) : schema["type"] === "object" ? [schema] : []
}

const propertiesOf = (schema: Tree): ReadonlyArray<[string, Tree]> =>
  Object.entries(isTree(schema["properties"]) ? schema["properties"] : {}).flatMap(([name, inner]) =>
    isTree(inner) && !modeClaims.has(name) ? [[name, inner]] : []
  )

/** Named for every body alike, and refused by a rule of their own. */
const modeClaims = new Set(["mode", "is_test_mode"])

const named: Readonly<Record<string, unknown>> = {
  amount_minor: 5000,
  country: "UG",
  msisdn: "256772123456",
  network: "MTN",
  redirect_url: "https://shop.example/done",
  url: "https://hooks.example/in",
  email: "a@b.example",
  tag: "someone",
  since: "2026-01-01T00:00:00.000Z"
}

const sample = (schema: Tree, name: string): unknown => {
  if (kindsOf(schema).length > 0) return sampleOf(schema)
  const [first] = [schema["enum"]].flat()
  if (first !== undefined) return first
  if (Object.hasOwn(named, name)) return named[name]
  return { integer: 5000, boolean: false, array: [] }[String(schema["type"])] ?? "x1"
}

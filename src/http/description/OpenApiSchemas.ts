/** An object of a JSON document. */
export interface Tree {
  readonly [name: string]: unknown
}

export const isTree = (node: unknown): node is Tree => typeof node === "object" && node !== null && !Array.isArray(node)

export const treeOf = (node: unknown): Tree => (isTree(node) ? node : {})

/**
 * A generated schema in its wire form: every number is an integer, and amounts are JSON integers although they are bigint
 * inside. Nested schemas for one value are merged into one, so that tools show it and generated clients get plain types.
 * Objects stay open: responses may get new members, and members that a request's schema does not name are ignored.
 */
export const wireSchema = (node: unknown): unknown =>
  mapped(node, (tree) => withAmounts(withMembers(withOneSchema(withIntegers(withoutEnd(tree))))))

/** The named schemas in wire form. Equal ones, which the generator numbers, are merged; a union of them gets a discriminator. */
export const namedSchemas = (document: Tree): { readonly schemas: Tree; readonly named: (node: unknown) => unknown } => {
  const generated = treeOf(wireSchema(document))
  const aliases = new Map<string, string>()
  for (const name of Object.keys(generated)) {
    const original = name.replace(/_\d+$/, "")
    if (original !== name) aliases.set(`${SCHEMAS}${name}`, original)
  }
  const named = (node: unknown): unknown =>
    mapped(node, (tree) => {
      const alias = typeof tree["$ref"] === "string" ? aliases.get(tree["$ref"]) : undefined
      return alias === undefined ? tree : { ...tree, $ref: `${SCHEMAS}${alias}` }
    })
  const kept = Object.entries(generated).filter(([name]) => !aliases.has(`${SCHEMAS}${name}`))
  const schemas = Object.fromEntries(kept.map(([name, schema]) => [name, named(schema)]))
  for (const [ref, original] of aliases) {
    if (JSON.stringify(named(generated[nameOf(ref)])) !== JSON.stringify(schemas[original]))
      throw new Error(`two different schemas are called ${original}`)
  }
  return { schemas: treeOf(mapped(schemas, (tree) => withDiscriminator(tree, schemas))), named }
}

/** The schema of a request body: every body may repeat its key's mode. */
export const withMode = (schema: Tree): Tree => ({
  ...schema,
  properties: {
    ...treeOf(schema["properties"]),
    mode: {
      type: "string",
      enum: ["live", "test"],
      description: "May repeat the mode of the key; another one is refused with `mode_mismatch`"
    },
    is_test_mode: {
      type: "boolean",
      description: "May repeat the mode of the key; another one is refused with `mode_mismatch`"
    }
  }
})

/** True when no value matches the schema: such a response is never sent. */
export const isNever = (schema: unknown): boolean =>
  isTree(schema) && isTree(schema["not"]) && Object.keys(schema["not"]).length === 0

export const mapped = (node: unknown, change: (tree: Tree) => Tree): unknown => {
  if (Array.isArray(node)) return node.map((item) => mapped(item, change))
  if (!isTree(node)) return node
  return change(Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, mapped(inner, change)])))
}

const SCHEMAS = "#/components/schemas/"
const nameOf = (ref: string): string => ref.slice(SCHEMAS.length)

const LARGEST = Number.MAX_SAFE_INTEGER
const amount = { type: "integer", format: "int64", minimum: 0, maximum: LARGEST }

/** The generator's schema of a number also allows the texts `Infinity` and `NaN`, which are never sent. */
const withIntegers = (tree: Tree): Tree => {
  const choices = tree["anyOf"]
  const { anyOf: _, ...rest } = tree
  if (Array.isArray(choices) && choices.some((choice) => isTree(choice) && isNotFinite(choice["enum"])))
    return { ...rest, type: "integer" }
  // Bounds that every exact integer satisfies say nothing.
  const { maximum, minimum, ...others } = tree
  const bounds =
    minimum === -LARGEST && maximum === LARGEST
      ? {}
      : { ...(minimum === undefined ? {} : { minimum }), ...(maximum === undefined ? {} : { maximum }) }
  return tree["type"] === "number" || tree["type"] === "integer" ? { ...others, ...bounds, type: "integer" } : tree
}

const isNotFinite = (values: unknown): boolean => Array.isArray(values) && values.includes("Infinity")

/** The generator puts checks and descriptions into `allOf`; what does not contradict the surrounding schema is merged into it. */
const withOneSchema = (tree: Tree): Tree => {
  const { allOf, ...own } = tree
  if (!Array.isArray(allOf)) return tree
  let whole: Tree = own
  const left: Array<unknown> = []
  for (const part of allOf) {
    const { description, ...rest } = treeOf(part)
    const isNew = Object.keys(rest).every((name) => !Object.hasOwn(whole, name))
    if (isNew) whole = { ...whole, ...rest, ...(description === undefined ? {} : { description }) }
    else left.push(part)
  }
  return left.length === 0 ? whole : { ...whole, allOf: left }
}

const descriptionOf = ({ description }: Tree): Tree => (description === undefined ? {} : { description })

const withAmounts = (tree: Tree): Tree => {
  const properties = tree["properties"]
  if (!isTree(properties)) return tree
  return {
    ...tree,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, inner]) => [
        name,
        name.endsWith("_minor") && isTree(inner) && inner["type"] === "string" ? { ...amount, ...descriptionOf(inner) } : inner
      ])
    )
  }
}

const withoutEnd = (tree: Tree): Tree => {
  // The generator's schema of an object without members.
  const { not, ...members } = tree
  if (isTree(not) && not["type"] === "null") return { ...members, type: "object" }
  if (typeof tree["additionalProperties"] !== "boolean") return tree
  const { additionalProperties: _, ...rest } = tree
  return rest
}

/** For an object without named members some generators make a type that can have none. */
const withMembers = (tree: Tree): Tree =>
  tree["type"] !== "object" || "properties" in tree || "additionalProperties" in tree
    ? tree
    : { ...tree, additionalProperties: true }

const KINDS = ["kind", "type", "code"]

/** A union of named objects that one member distinguishes. */
const withDiscriminator = (tree: Tree, schemas: Tree): Tree => {
  const { anyOf, ...rest } = tree
  const refs = Array.isArray(anyOf) ? anyOf.map((one) => treeOf(one)["$ref"]) : []
  if (refs.length < 2 || !refs.every((ref) => typeof ref === "string")) return tree
  for (const propertyName of KINDS) {
    const mapping = new Map(refs.flatMap((ref) => kindsOf(schemas, ref, propertyName).map((kind) => [kind, ref])))
    if (mapping.size === refs.length)
      return { ...rest, oneOf: anyOf, discriminator: { propertyName, mapping: Object.fromEntries(mapping) } }
  }
  return tree
}

const kindsOf = (schemas: Tree, ref: string, propertyName: string): ReadonlyArray<string> => {
  const schema = treeOf(schemas[nameOf(ref)])
  const values = treeOf(treeOf(schema["properties"])[propertyName])["enum"]
  return Array.isArray(values) && values.length === 1 ? [String(values[0])] : []
}

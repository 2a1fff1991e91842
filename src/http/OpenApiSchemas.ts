/** An object of a JSON document. */
export interface Tree {
  readonly [name: string]: unknown
}

export const isTree = (node: unknown): node is Tree => typeof node === "object" && node !== null && !Array.isArray(node)

/**
 * A generated schema of a response as it is on the wire: every number is an integer, and amounts are JSON integers although they are
 * bigint inside. A response holds what its schema names and nothing else.
 */
export const responseSchema = (node: unknown): unknown => mapped(node, (tree) => withAmounts(withIntegers(withEnd(tree))))

/** A generated schema of a request's body. Members without a name in it are ignored, and it may repeat its key's mode. */
export const requestSchema = (node: unknown): unknown => {
  const body = mapped(responseSchema(node), (tree) => {
    const { additionalProperties, ...rest } = tree
    return additionalProperties === false ? rest : tree
  })
  return mapped(body, (tree) => (isTree(tree["schema"]) ? { ...tree, schema: withMode(tree["schema"]) } : tree))
}

/** Whether no value follows a schema: such a response is never given. */
export const isNever = (schema: unknown): boolean =>
  isTree(schema) && isTree(schema["not"]) && Object.keys(schema["not"]).length === 0

const LARGEST_AMOUNT = Number.MAX_SAFE_INTEGER
const amount = { type: "integer", minimum: 0, maximum: LARGEST_AMOUNT }

const mapped = (node: unknown, change: (tree: Tree) => Tree): unknown => {
  if (Array.isArray(node)) return node.map((item) => mapped(item, change))
  if (!isTree(node)) return node
  return change(Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, mapped(inner, change)])))
}

/** The generated schema of a number allows the texts `Infinity` and `NaN`, which are never sent. */
const withIntegers = (tree: Tree): Tree => {
  const choices = tree["anyOf"]
  if (Array.isArray(choices) && choices.some((choice) => isTree(choice) && isNotFinite(choice["enum"])))
    return { type: "integer" }
  return tree["type"] === "number" ? { ...tree, type: "integer" } : tree
}

const isNotFinite = (values: unknown): boolean => Array.isArray(values) && values.includes("Infinity")

const withAmounts = (tree: Tree): Tree => {
  const properties = tree["properties"]
  if (!isTree(properties)) return tree
  return {
    ...tree,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, inner]) => [
        name,
        name.endsWith("_minor") && isTree(inner) && inner["type"] === "string" ? amount : inner
      ])
    )
  }
}

const withEnd = (tree: Tree): Tree => {
  // The generated schema of an object without members.
  if (isTree(tree["not"]) && tree["not"]["type"] === "null") return { type: "object", additionalProperties: false }
  return tree["additionalProperties"] === true ? { ...tree, additionalProperties: false } : tree
}

const withMode = (schema: Tree): Tree => {
  const choices = schema["anyOf"]
  if (Array.isArray(choices)) return { ...schema, anyOf: choices.map((choice) => (isTree(choice) ? withMode(choice) : choice)) }
  const properties = schema["properties"]
  if (!isTree(properties)) return schema
  return {
    ...schema,
    properties: { ...properties, mode: { type: "string", enum: ["live", "test"] }, is_test_mode: { type: "boolean" } }
  }
}

/** PostgreSQL's own syntax tree as plain objects: a node is an object whose one key is its kind. */
export type Fields = Readonly<Record<string, unknown>>

export const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value)

export const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** The fields of a node of this kind. */
export const as = (kind: string, node: unknown): Fields | undefined => {
  const fields = isFields(node) ? node[kind] : undefined
  return isFields(fields) ? fields : undefined
}

/** The fields of every node of a kind in a tree, outermost first. */
export function* within(tree: unknown, kind: string): Generator<Fields> {
  if (Array.isArray(tree)) for (const item of tree) yield* within(item, kind)
  if (!isFields(tree)) return
  for (const [name, fields] of Object.entries(tree)) {
    if (name === kind && isFields(fields)) yield fields
    yield* within(fields, kind)
  }
}

/** The words of a name such as k.app_id; a star is "*". */
export const wordsOf = (names: unknown): ReadonlyArray<string> =>
  listOf(names).map((name) => (as("A_Star", name) === undefined ? textOf(as("String", name)?.["sval"]) : "*"))

export const columnOf = (node: unknown): ReadonlyArray<string> => wordsOf(as("ColumnRef", node)?.["fields"])

/** What is meant, whatever type it is cast to. */
export const uncast = (node: unknown): unknown => {
  const cast = as("TypeCast", node)
  return cast === undefined ? node : uncast(cast["arg"])
}

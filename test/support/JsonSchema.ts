import { isDeepStrictEqual } from "node:util"
import { isTree, mapped, type Tree, treeOf } from "../../src/http/description/OpenApiSchemas.ts"

/** What a value breaks of a JSON schema, as lines; none where it follows it. A keyword that is not known here is a mistake, too. */
export const breaches = (document: Tree, schema: unknown, value: unknown, at = "$"): ReadonlyArray<string> => {
  if (schema === true) return []
  if (!isTree(schema)) return [`${at}: nothing is allowed here`]
  return Object.entries(schema).flatMap(([keyword, rule]) => {
    const check = keywords[keyword]
    return check === undefined ? [`${at}: unknown keyword ${keyword}`] : check({ at, document, rule, schema, value })
  })
}

/** What a local `$ref` points at. */
export const resolved = (document: Tree, ref: unknown): unknown => {
  let node: unknown = document
  for (const part of String(ref).split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~")
    node = isTree(node) && Object.hasOwn(node, name) ? node[name] : undefined
  }
  return node
}

/** A schema with what its references point at in their place. */
export const inlined = (document: Tree, schema: unknown): unknown =>
  mapped(schema, ({ $ref, ...rest }) =>
    $ref === undefined ? rest : { ...treeOf(inlined(document, resolved(document, $ref))), ...rest }
  )

interface Check {
  readonly document: Tree
  readonly schema: Tree
  readonly rule: unknown
  readonly value: unknown
  readonly at: string
}

const list = (rule: unknown): ReadonlyArray<unknown> => (Array.isArray(rule) ? rule : [])
const entries = (node: unknown): ReadonlyArray<[string, unknown]> => (isTree(node) ? Object.entries(node) : [])
const says = (holds: boolean, at: string, what: string): ReadonlyArray<string> => (holds ? [] : [`${at}: ${what}`])
const fitting = ({ at, document, rule, value }: Check) => list(rule).map((one) => breaches(document, one, value, at))

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: (value) => Number.isSafeInteger(value),
  number: (value) => typeof value === "number",
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: isTree
}

const size =
  (measure: (value: unknown) => number | undefined, holds: (measured: number, rule: number) => boolean) =>
  ({ at, rule, value }: Check) => {
    const measured = measure(value)
    return says(
      measured === undefined || holds(measured, Number(rule)),
      at,
      `${String(measured)} breaks the bound ${String(rule)}`
    )
  }
const number = (value: unknown) => (typeof value === "number" ? value : undefined)
const length = (value: unknown) => (typeof value === "string" ? [...value].length : undefined)
const count = (value: unknown) => (Array.isArray(value) ? value.length : undefined)
const atLeast = (measured: number, rule: number) => measured >= rule
const atMost = (measured: number, rule: number) => measured <= rule
const nothing = () => []

const keywords: Readonly<Record<string, (check: Check) => ReadonlyArray<string>>> = {
  $ref: ({ at, document, rule, value }) => breaches(document, resolved(document, rule), value, at),
  type: ({ at, rule, value }) =>
    says(
      [rule].flat().some((name) => types[String(name)]?.(value) === true),
      at,
      `${typeof value} is not ${String(rule)}`
    ),
  enum: ({ at, rule, value }) =>
    says(list(rule).includes(value), at, `${JSON.stringify(value)} is none of ${JSON.stringify(rule)}`),
  const: ({ at, rule, value }) =>
    says(isDeepStrictEqual(rule, value), at, `${JSON.stringify(value)} is not ${JSON.stringify(rule)}`),
  anyOf: (check) => {
    const all = fitting(check)
    return all.some((one) => one.length === 0) ? [] : [`${check.at}: fits nothing of anyOf`, ...all.flat()]
  },
  oneOf: (check) => {
    const fits = fitting(check).filter((one) => one.length === 0).length
    return says(fits === 1, check.at, `fits ${fits} of oneOf: ${JSON.stringify(check.value)}`)
  },
  allOf: (check) => fitting(check).flat(),
  not: ({ at, document, rule, value }) => says(breaches(document, rule, value, at).length > 0, at, "is what it must not be"),
  required: ({ at, rule, value }) =>
    isTree(value) ? list(rule).flatMap((name) => says(Object.hasOwn(value, String(name)), at, `lacks ${String(name)}`)) : [],
  properties: ({ at, document, rule, value }) =>
    isTree(value)
      ? entries(rule).flatMap(([name, inner]) =>
          Object.hasOwn(value, name) ? breaches(document, inner, value[name], `${at}.${name}`) : []
        )
      : [],
  additionalProperties: ({ at, document, rule, schema, value }) => {
    const named = schema["properties"]
    return entries(value)
      .filter(([name]) => !(isTree(named) && Object.hasOwn(named, name)))
      .flatMap(([name, inner]) =>
        rule === false ? [`${at}: ${name} is not described`] : breaches(document, rule, inner, `${at}.${name}`)
      )
  },
  maxProperties: size((value) => (isTree(value) ? Object.keys(value).length : undefined), atMost),
  propertyNames: ({ at, document, rule, value }) => entries(value).flatMap(([name]) => breaches(document, rule, name, at)),
  items: ({ at, document, rule, value }) =>
    list(value).flatMap((item, index) => breaches(document, rule, item, `${at}[${index}]`)),
  pattern: ({ at, rule, value }) =>
    says(typeof value !== "string" || new RegExp(String(rule), "u").test(value), at, `does not match ${String(rule)}`),
  minimum: size(number, atLeast),
  maximum: size(number, atMost),
  minLength: size(length, atLeast),
  maxLength: size(length, atMost),
  minItems: size(count, atLeast),
  maxItems: size(count, atMost),
  format: nothing,
  description: nothing,
  discriminator: nothing,
  title: nothing
}

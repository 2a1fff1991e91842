import { Redacted, Result, type Schema, SchemaIssue, SchemaParser } from "effect"
import { isCurrency } from "../domain/Currency.ts"
import {
  InexactAmount,
  type Issue,
  MalformedRequest,
  ModeMismatch,
  UnknownCurrency,
  ValidationFailed
} from "../domain/errors/Terminal.ts"
import type { Mode } from "../domain/Ids.ts"
import { json } from "../domain/Json.ts"
import { MAXIMUM_METADATA_BYTES } from "./api/Wire.ts"
import { isJsonObject, type JsonObject, type JsonTree, NumberLiteral, parseStrict, withNumbers } from "./StrictJson.ts"

/** A body that follows its endpoint's schema. */
export interface Body<C> {
  readonly command: C
  /** The command with every secret open, for the fingerprint's hash and nothing else. */
  readonly fingerprint: unknown
  /** Paths of the members that the contract does not name. */
  readonly ignored: ReadonlyArray<string>
}

export type BodyRefusal = UnknownCurrency | InexactAmount | ValidationFailed

/** The JSON of a body; what cannot be read at all is 400. */
export const readTree = (bytes: Uint8Array): Result.Result<JsonTree, MalformedRequest> =>
  Result.mapError(parseStrict(bytes), (message) => new MalformedRequest({ issues: [{ path: "", message }] }))

/** A body may repeat its key's mode and may not claim another (interface.md, "What the service does" rule 5). */
export const checkMode = (tree: JsonTree, mode: Mode): Result.Result<JsonTree, ModeMismatch> => {
  if (!isJsonObject(tree)) return Result.succeed(tree)
  const claimed = member(tree, "mode")
  const test = member(tree, "is_test_mode")
  const agrees = (claimed === undefined || claimed === mode) && (test === undefined || test === (mode === "test"))
  return agrees ? Result.succeed(tree) : Result.fail(new ModeMismatch({ key_mode: mode }))
}

/** A tree with what its schema made of it. */
export interface Decoded<W> {
  readonly wire: W
  readonly tree: JsonObject
  readonly ignored: ReadonlyArray<string>
}

/** Decodes in the contract's order: unknown currencies, inexact amounts, then every other rule of the fields at once. */
export const makeDecoder = <W>(schema: Schema.ConstraintDecoder<W> & { readonly fields: Schema.Struct.Fields }) => {
  const decode = SchemaParser.decodeUnknownResult(schema, { errors: "all" })
  const currencies = Object.keys(schema.fields).filter((name) => /(?:^|_)currency$/.test(name))
  const amounts = Object.keys(schema.fields).filter((name) => name.endsWith("_minor"))
  return (tree: JsonTree): Result.Result<Decoded<W>, BodyRefusal> => {
    if (!isJsonObject(tree)) return invalid([{ path: "", message: "Expected an object" }])
    for (const name of currencies) {
      const value = member(tree, name)
      if (typeof value === "string" && !isCurrency(value))
        return Result.fail(new UnknownCurrency({ currency: value.slice(0, LONGEST_CODE_SHOWN) }))
    }
    for (const name of amounts) {
      const value = member(tree, name)
      if (value instanceof NumberLiteral && !EXACT.test(value.source)) return Result.fail(new InexactAmount({ field: name }))
    }
    const decoded = decode(withNumbers(tree))
    const texts = textIssues(tree, "")
    if (Result.isFailure(decoded)) return invalid([...texts, ...fieldIssues(decoded.failure)])
    if (texts.length > 0) return invalid(texts)
    return Result.succeed({ wire: decoded.success, tree, ignored: unnamed(tree, decoded.success, "") })
  }
}

export const invalid = (issues: ReadonlyArray<Issue>): Result.Result<never, ValidationFailed> =>
  Result.fail(new ValidationFailed({ issues }))

export const issuesOf = (rule: Result.Result<unknown, ReadonlyArray<Issue>>): ReadonlyArray<Issue> =>
  Result.isFailure(rule) ? rule.failure : []

/** The metadata as it came, as compact JSON; an issue where it is too large. */
export const metadataOf = (
  tree: JsonObject
): Result.Result<{ readonly text: string; readonly tree: JsonTree }, ReadonlyArray<Issue>> => {
  const metadata = member(tree, "metadata") ?? {}
  const text = json(metadata)
  return Buffer.byteLength(text) <= MAXIMUM_METADATA_BYTES
    ? Result.succeed({ text, tree: metadata })
    : Result.fail([{ path: "metadata", message: `Expected at most ${MAXIMUM_METADATA_BYTES} bytes as compact JSON` }])
}

/** A command with its secrets open: only ever the input of a keyed hash. */
export const opened = (value: unknown): unknown => {
  if (Redacted.isRedacted(value)) return Redacted.value(value)
  if (value === null || typeof value !== "object" || "toJSON" in value) return value
  if (Array.isArray(value)) return value.map(opened)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, opened(inner)]))
}

const EXACT = /^-?(?:0|[1-9][0-9]*)$/
const LONGEST_CODE_SHOWN = 16
// Named by the contract for every body, and checked before the rest.
const modeClaims = new Set(["mode", "is_test_mode"])

const member = (tree: JsonObject, name: string): JsonTree | undefined => (Object.hasOwn(tree, name) ? tree[name] : undefined)

const join = (path: string, name: string | number): string => (path === "" ? String(name) : `${path}.${name}`)

// The default messages say what is expected and, without `reportInput`, never what was there.
const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** What a schema did not take, by the path of each part. */
export const fieldIssues = (issue: SchemaIssue.Issue): ReadonlyArray<Issue> =>
  format(issue).issues.map(({ message, path }) => ({ path: (path ?? []).map(String).join("."), message }))

/** NUL and lone surrogates cannot be stored or sent on. */
const textIssues = (tree: JsonTree, path: string): ReadonlyArray<Issue> => {
  if (typeof tree === "string")
    return storable(tree) ? [] : [{ path, message: "Expected a text without NUL and lone surrogates" }]
  if (Array.isArray(tree)) return tree.flatMap((item, at) => textIssues(item, join(path, at)))
  if (!isJsonObject(tree)) return []
  return Object.entries(tree).flatMap(([name, inner]) =>
    storable(name)
      ? textIssues(inner, join(path, name))
      : [{ path, message: "Expected names of members without NUL and lone surrogates" }]
  )
}

const storable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

/** What the schema left out is what the contract does not name. Metadata is the tenant's own and named whole. */
const unnamed = (tree: JsonObject, wire: unknown, path: string): ReadonlyArray<string> =>
  Object.keys(tree).flatMap((name) => {
    const here = join(path, name)
    if (path === "" && modeClaims.has(name)) return []
    if (typeof wire !== "object" || wire === null || !Object.hasOwn(wire, name)) return [here]
    const inner = tree[name]
    return here !== "metadata" && isJsonObject(inner)
      ? unnamed(inner, Object.getOwnPropertyDescriptor(wire, name)?.value, here)
      : []
  })

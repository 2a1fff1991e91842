import { Result, type Schema, SchemaAST, SchemaParser } from "effect"
import { isCurrency } from "../../domain/Currency.ts"
import {
  InexactAmount,
  type Issue,
  MalformedRequest,
  ModeMismatch,
  UnknownCurrency,
  ValidationFailed
} from "../../domain/errors/Terminal.ts"
import type { Mode } from "../../domain/Ids.ts"
import { json } from "../../domain/Json.ts"
import { MAXIMUM_METADATA_BYTES } from "../api/Wire.ts"
import { bounded, childPath, fieldIssues, issueAt, type JsonPath, pathOf } from "../json/Issues.ts"
import { isJsonObject, type JsonObject, type JsonTree, NumberLiteral, parseStrict, withNumbers } from "../json/StrictJson.ts"

/** A decoded request body. It follows its endpoint's schema. */
export interface Body<C> {
  readonly command: C
  /** The command as the request's fingerprint covers it. */
  readonly fingerprint: unknown
  /** Paths of the members that the contract does not name, computed on demand. */
  readonly ignored: Iterable<string>
}

export type BodyError = UnknownCurrency | InexactAmount | ValidationFailed

/** Parses a body's JSON. A body that is not JSON is `malformed_request` (400). */
export const readTree = (bytes: Uint8Array): Result.Result<JsonTree, MalformedRequest> =>
  Result.mapError(parseStrict(bytes), (message) => new MalformedRequest({ issues: [{ path: "", message }] }))

/** A body may repeat its key's mode but not claim the other one (contract MODE-3). */
export const checkMode = (tree: JsonTree, mode: Mode): Result.Result<JsonTree, ModeMismatch> => {
  if (!isJsonObject(tree)) return Result.succeed(tree)
  const claimed = member(tree, "mode")
  const test = member(tree, "is_test_mode")
  const agrees = (claimed === undefined || claimed === mode) && (test === undefined || test === (mode === "test"))
  return agrees ? Result.succeed(tree) : Result.fail(new ModeMismatch({ key_mode: mode }))
}

/** A body's JSON with the values that its schema decoded. */
interface Decoded<W> {
  readonly wire: W
  readonly tree: JsonObject
  readonly ignored: Iterable<string>
}

/** Checks in the contract's order: unknown currencies, inexact amounts, then all other rules of the fields together. */
export const makeDecoder = <W>(schema: Schema.ConstraintDecoder<W> & { readonly fields: Schema.Struct.Fields }) => {
  const decode = SchemaParser.decodeUnknownResult(schema, { errors: "all" })
  const currencies = Object.keys(schema.fields).filter((name) => /(?:^|_)currency$/.test(name))
  const amounts = Object.keys(schema.fields).filter((name) => name.endsWith("_minor"))
  const lists = Object.entries(schema.fields).flatMap(([name, { ast }]) => (SchemaAST.isArrays(ast) ? [name] : []))
  return (tree: JsonTree): Result.Result<Decoded<W>, BodyError> => {
    if (!isJsonObject(tree)) return invalid([issueAt(null, "The body must be an object.")])
    for (const name of currencies) {
      const value = member(tree, name)
      if (typeof value === "string" && !isCurrency(value))
        return Result.fail(new UnknownCurrency({ currency: value.slice(0, LONGEST_CODE_SHOWN) }))
    }
    for (const name of amounts) {
      const value = member(tree, name)
      if (value instanceof NumberLiteral && !EXACT.test(value.source)) return Result.fail(new InexactAmount({ field: name }))
    }
    // Checked before the schema, which would look at every item.
    for (const name of lists) if (isLong(member(tree, name))) return invalid([issueAt(childPath(null, name), TOO_MANY_ITEMS)])
    const decoded = decode(withNumbers(tree))
    const issues = bounded(
      isStorable(tree) ? [] : textIssues(tree, null),
      Result.isFailure(decoded) ? fieldIssues(decoded.failure, tree) : []
    )
    if (Result.isFailure(decoded) || issues.length > 0) return invalid(issues)
    return Result.succeed({
      wire: decoded.success,
      tree,
      ignored: { [Symbol.iterator]: () => unnamed(tree, decoded.success, null) }
    })
  }
}

export const invalid = (...issues: ReadonlyArray<Iterable<Issue>>): Result.Result<never, ValidationFailed> =>
  Result.fail(new ValidationFailed({ issues: bounded(...issues) }))

export const issuesOf = (rule: Result.Result<unknown, ReadonlyArray<Issue>>): ReadonlyArray<Issue> =>
  Result.isFailure(rule) ? rule.failure : []

/** The metadata as compact JSON, with every digit as it was sent. Fails with an issue when it is too large. */
export const metadataWithinLimit = (
  tree: JsonObject
): Result.Result<{ readonly text: string; readonly tree: JsonTree }, ReadonlyArray<Issue>> => {
  const metadata = member(tree, "metadata") ?? {}
  const text = json(metadata)
  return Buffer.byteLength(text) <= MAXIMUM_METADATA_BYTES
    ? Result.succeed({ text, tree: metadata })
    : Result.fail([{ path: "metadata", message: `must be at most ${MAXIMUM_METADATA_BYTES} bytes as compact JSON` }])
}

const EXACT = /^-?(?:0|[1-9][0-9]*)$/
const LONGEST_CODE_SHOWN = 16
// The contract allows these in every body; `checkMode` has checked them.
const modeClaims = new Set(["mode", "is_test_mode"])

const member = (tree: JsonObject, name: string): JsonTree | undefined => (Object.hasOwn(tree, name) ? tree[name] : undefined)

/** Nearly every body has only storable text. This finds out without building the path of each text. */
const isStorable = (tree: JsonTree): boolean => {
  if (typeof tree === "string") return storable(tree)
  if (Array.isArray(tree)) return tree.every(isStorable)
  if (!isJsonObject(tree)) return true
  for (const name in tree) if (!storable(name) || !isStorable(tree[name] ?? null)) return false
  return true
}

/** NUL and lone surrogates can be neither stored nor forwarded. */
function* textIssues(tree: JsonTree, place: JsonPath | null): Generator<Issue, void> {
  if (typeof tree === "string") {
    if (!storable(tree)) yield issueAt(place, UNSTORABLE)
  } else if (Array.isArray(tree)) {
    for (let at = 0; at < tree.length; at++) yield* textIssues(tree[at], childPath(place, at))
  } else if (isJsonObject(tree)) {
    for (const name of Object.keys(tree)) {
      if (storable(name)) yield* textIssues(tree[name] ?? null, childPath(place, name))
      else yield issueAt(place, UNSTORABLE_NAME)
    }
  }
}

const storable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

const UNSTORABLE = "must not hold the NUL character or half of a surrogate pair"
const UNSTORABLE_NAME = "must not have a member whose name holds the NUL character or half of a surrogate pair"

/** More than any list of distinct items can have. */
const MOST_ITEMS = 64
const TOO_MANY_ITEMS = `must be a list of at most ${MOST_ITEMS} items`

const isLong = (tree: JsonTree | undefined): boolean => Array.isArray(tree) && tree.length > MOST_ITEMS

/** The members that the schema dropped, because the contract does not name them. Metadata is the tenant's and is not searched. */
function* unnamed(tree: JsonObject, wire: unknown, place: JsonPath | null): Generator<string, void> {
  for (const name of Object.keys(tree)) {
    const here = childPath(place, name)
    if (place === null && modeClaims.has(name)) continue
    const inner = tree[name]
    if (typeof wire !== "object" || wire === null || !Object.hasOwn(wire, name)) yield pathOf(here)
    else if ((place !== null || name !== "metadata") && isJsonObject(inner))
      yield* unnamed(inner, Object.getOwnPropertyDescriptor(wire, name)?.value, here)
  }
}

import { SchemaAST, type SchemaIssue } from "effect"
import { holdsCard } from "../../domain/CardNumber.ts"
import type { Issue } from "../../domain/errors/Terminal.ts"
import { isJsonObject, type JsonTree } from "./StrictJson.ts"

/** A response names at most this many issues, however many the request has. */
const MOST_ISSUES = 32
/** The longest path of an issue, in characters; a longer one ends in `...`. */
const LONGEST_PATH = 100

/** A place in a body: a member or item, and the place that contains it. Its path is built only when something is wrong there. */
export interface JsonPath {
  readonly name: string | number
  /** Null: the body itself. */
  readonly within: JsonPath | null
}

export const childPath = (within: JsonPath | null, name: string | number): JsonPath => ({ name, within })

/** An issue at a place. Its message continues the path ("amount_minor", "is required") and never holds the value. */
export const issueAt = (place: JsonPath | null, message: string): Issue => ({ path: pathOf(place), message })

/** The first `MOST_ISSUES` distinct issues of several generators, which stop there: a thousand mistakes cost no more. */
export const bounded = (...walks: ReadonlyArray<Iterable<Issue>>): ReadonlyArray<Issue> => {
  const found = new Map<string, Issue>()
  for (const walk of walks)
    for (const issue of walk) {
      found.set(`${issue.path} ${issue.message}`, issue)
      if (found.size === MOST_ISSUES) return [...found.values()]
    }
  return [...found.values()]
}

/** Member names joined by dots, at most `LONGEST_PATH` characters. The names come from the caller: see `shownName`. */
export const pathOf = (place: JsonPath | null): string => {
  const names: Array<string> = []
  for (let at = place; at !== null; at = at.within) names.push(shownName(at.name))
  const path = names.toReversed().join(".")
  return path.length <= LONGEST_PATH ? path : `${path.slice(0, LONGEST_PATH - 3)}...`
}

/** A character that a terminal or a header could not show becomes `?`; a name that is a card number is not shown at all. */
const shownName = (name: string | number): string => {
  const beginning = String(name).slice(0, LONGEST_PATH)
  return holdsCard(beginning) ? "?" : beginning.replace(/[^ !#-[\]-~]/g, "?")
}

// Messages of schema issues, written for users of the API. They come from here and from the `expected` of each check, which
// continues "must be"; the test of all bodies detects a check without one.

export const REQUIRED = "is required"
const INVALID = "is not valid"

/** The issues of a schema, one at a time, each with the path of its field. `tree`: the body; undefined when there is none. */
export function* fieldIssues(
  issue: SchemaIssue.Issue,
  tree: JsonTree | undefined,
  place: JsonPath | null = null
): Generator<Issue, void> {
  switch (issue._tag) {
    case "Pointer":
      return yield* fieldIssues(issue.issue, issue.path.reduce(memberOf, tree), issue.path.map(nameOf).reduce(childPath, place))
    case "Encoding":
      return yield* fieldIssues(issue.issue, tree, place)
    case "Composite":
      for (const one of issue.issues) yield* fieldIssues(one, tree, place)
      return
    case "AnyOf":
      if (issue.issues.length === 0) yield unmatched(issue.ast, tree, place)
      for (const one of issue.issues) yield* fieldIssues(one, tree, place)
      return
    case "MissingKey":
      return yield issueAt(place, REQUIRED)
    case "Filter":
      return yield issueAt(place, mustBe(issue.filter.annotations?.expected))
    case "InvalidType":
      return yield issueAt(place, ruleOf(issue.ast))
    default:
      return yield issueAt(place, INVALID)
  }
}

/** The value matches no member of a union: the property that names its kind is missing or wrong. */
const unmatched = (union: SchemaAST.Union, tree: JsonTree | undefined, place: JsonPath | null): Issue => {
  const kinds = union.types.filter(SchemaAST.isObjects)
  const [discriminator] = kinds.flatMap(({ propertySignatures }) =>
    propertySignatures.filter(({ type }) => SchemaAST.isLiteral(type))
  )
  if (discriminator === undefined || !isJsonObject(tree)) return issueAt(place, ruleOf(union))
  const name = String(discriminator.name)
  if (!Object.hasOwn(tree, name)) return issueAt(childPath(place, name), REQUIRED)
  const types = kinds.flatMap(({ propertySignatures }) => propertySignatures.filter((one) => one.name === discriminator.name))
  return issueAt(childPath(place, name), oneOf(types.map(({ type }) => type)))
}

const ruleOf = (ast: SchemaAST.AST): string => {
  switch (ast._tag) {
    case "String":
      return "must be a text"
    case "Number":
      return "must be a whole number"
    case "Boolean":
      return "must be true or false"
    case "Objects":
      return "must be an object"
    case "Arrays":
      return "must be a list"
    case "Literal":
      return oneOf([ast])
    case "Union":
      return ast.types.some(SchemaAST.isObjects) ? "must be an object" : oneOf(ast.types)
    default:
      return INVALID
  }
}

const oneOf = (types: ReadonlyArray<SchemaAST.AST>): string => {
  const choices = types.flatMap((type) => (SchemaAST.isLiteral(type) ? [String(type.literal)] : []))
  return choices.length === 1 ? `must be ${choices.join()}` : `must be one of ${choices.join(", ")}`
}

const mustBe = (expected: unknown): string => (typeof expected === "string" ? `must be ${expected}` : INVALID)

const nameOf = (name: PropertyKey): string | number => (typeof name === "symbol" ? String(name) : name)

const memberOf = (tree: JsonTree | undefined, name: PropertyKey): JsonTree | undefined => {
  if (Array.isArray(tree) && typeof name === "number") return tree[name]
  return isJsonObject(tree) && typeof name === "string" && Object.hasOwn(tree, name) ? tree[name] : undefined
}

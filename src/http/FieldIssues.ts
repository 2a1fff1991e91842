import { SchemaAST, type SchemaIssue } from "effect"
import type { Issue } from "../domain/errors/Terminal.ts"
import { inside, issueAt, type Place } from "./Issues.ts"
import { isJsonObject, type JsonTree } from "./StrictJson.ts"

// What a schema did not take, in words for whoever calls the API. The words come from here and from the `expected` of each rule, which
// reads on from "must be"; a rule without one shows up in the test of all bodies.

export const REQUIRED = "is required"
const INVALID = "is not valid"

/** Every issue by the path of its field, one at a time. `tree` is what was decoded, where it is at hand. */
export function* fieldIssues(
  issue: SchemaIssue.Issue,
  tree: JsonTree | undefined,
  place: Place | null = null
): Generator<Issue, void> {
  switch (issue._tag) {
    case "Pointer":
      return yield* fieldIssues(issue.issue, issue.path.reduce(memberOf, tree), issue.path.map(nameOf).reduce(inside, place))
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

/** None of a union's kinds: each kind is told by one member, and it is that member that is missing or wrong. */
const unmatched = (union: SchemaAST.Union, tree: JsonTree | undefined, place: Place | null): Issue => {
  const kinds = union.types.filter(SchemaAST.isObjects)
  const [told] = kinds.flatMap(({ propertySignatures }) => propertySignatures.filter(({ type }) => SchemaAST.isLiteral(type)))
  if (told === undefined || !isJsonObject(tree)) return issueAt(place, ruleOf(union))
  const name = String(told.name)
  if (!Object.hasOwn(tree, name)) return issueAt(inside(place, name), REQUIRED)
  const types = kinds.flatMap(({ propertySignatures }) => propertySignatures.filter((one) => one.name === told.name))
  return issueAt(inside(place, name), oneOf(types.map(({ type }) => type)))
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

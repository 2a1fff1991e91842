import { Result } from "effect"

/** A number as it was written. It is echoed as the same text, so that nothing rounds it. */
export class NumberLiteral {
  readonly source: string
  constructor(source: string) {
    this.source = source
  }
  toJSON(): unknown {
    return JSON.rawJSON(this.source)
  }
}

export type JsonTree = null | boolean | string | NumberLiteral | ReadonlyArray<JsonTree> | JsonObject
export interface JsonObject {
  readonly [member: string]: JsonTree
}

/** Why a body was not parsed. It contains no part of the body and is safe to show. */
export type Malformed =
  | "The body is not UTF-8."
  | "The body is not JSON."
  | "The body nests deeper than 32."
  | "The body has a member twice in one object."

export const DEEPEST = 32

/** Parses bytes as JSON, more strictly than JSON.parse: UTF-8 only, no member twice, at most `DEEPEST` levels deep. */
export const parseStrict = (bytes: Uint8Array): Result.Result<JsonTree, Malformed> => {
  try {
    return Result.succeed(new Reader(utf8.decode(bytes)).whole())
  } catch (cause) {
    if (cause instanceof Stop) return Result.fail(cause.reason)
    // Only the text decoder throws TypeError here; any other error is a bug.
    if (cause instanceof TypeError) return Result.fail("The body is not UTF-8.")
    throw cause
  }
}

export const isJsonObject = (tree: JsonTree | undefined): tree is JsonObject =>
  typeof tree === "object" && tree !== null && !Array.isArray(tree) && !(tree instanceof NumberLiteral)

/** The same tree with JavaScript numbers, for schemas. Code that needs the exact number reads the literal. */
export const withNumbers = (tree: JsonTree): unknown => {
  if (tree instanceof NumberLiteral) return Number(tree.source)
  if (Array.isArray(tree)) return tree.map(withNumbers)
  if (!isJsonObject(tree)) return tree
  const members: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(tree)) define(members, name, withNumbers(member))
  return members
}

// JSON has no byte order mark: it is left in the text, where the parser refuses it.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Aborts parsing; never leaves this file. */
class Stop {
  readonly reason: Malformed
  constructor(reason: Malformed) {
    this.reason = reason
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const SPACE = /[ \t\n\r]*/y
// Plain characters (no control characters, quotes or backslashes) and escapes. JSON.parse then checks and decodes the escapes.
const STRING = /"[ !#-[\]-\uffff]*(?:\\.[ !#-[\]-\uffff]*)*"/y

/** A recursive-descent parser. It refuses a body that nests too deep long before the stack overflows. */
class Reader {
  readonly text: string
  at = 0
  constructor(text: string) {
    this.text = text
  }

  whole(): JsonTree {
    const tree = this.value(0)
    this.space()
    if (this.at !== this.text.length) throw new Stop("The body is not JSON.")
    return tree
  }

  private value(depth: number): JsonTree {
    this.space()
    switch (this.text[this.at]) {
      case "{":
        return this.object(depth + 1)
      case "[":
        return this.array(depth + 1)
      case '"':
        return this.string()
      case "t":
        return this.word("true", true)
      case "f":
        return this.word("false", false)
      case "n":
        return this.word("null", null)
      default:
        return new NumberLiteral(this.match(NUMBER))
    }
  }

  private object(depth: number): JsonObject {
    if (depth > DEEPEST) throw new Stop("The body nests deeper than 32.")
    const members: Record<string, JsonTree> = {}
    this.at++
    if (this.next("}")) return members
    do {
      this.space()
      const name = this.string()
      if (Object.hasOwn(members, name)) throw new Stop("The body has a member twice in one object.")
      if (!this.next(":")) throw new Stop("The body is not JSON.")
      define(members, name, this.value(depth))
    } while (this.next(","))
    if (!this.next("}")) throw new Stop("The body is not JSON.")
    return members
  }

  private array(depth: number): ReadonlyArray<JsonTree> {
    if (depth > DEEPEST) throw new Stop("The body nests deeper than 32.")
    const items: Array<JsonTree> = []
    this.at++
    if (this.next("]")) return items
    do items.push(this.value(depth))
    while (this.next(","))
    if (!this.next("]")) throw new Stop("The body is not JSON.")
    return items
  }

  private string(): string {
    const quoted = this.match(STRING)
    if (!quoted.includes("\\")) return quoted.slice(1, -1)
    try {
      return JSON.parse(quoted)
    } catch {
      throw new Stop("The body is not JSON.")
    }
  }

  private word<A extends JsonTree>(word: string, value: A): A {
    if (!this.text.startsWith(word, this.at)) throw new Stop("The body is not JSON.")
    this.at += word.length
    return value
  }

  private next(char: string): boolean {
    this.space()
    if (this.text[this.at] !== char) return false
    this.at++
    return true
  }

  private space(): void {
    SPACE.lastIndex = this.at
    SPACE.test(this.text)
    this.at = SPACE.lastIndex
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)?.[0]
    if (found === undefined) throw new Stop("The body is not JSON.")
    this.at = pattern.lastIndex
    return found
  }
}

// A member named __proto__ is data like any other.
const define = <A>(members: Record<string, A>, name: string, value: A): void => {
  if (name === "__proto__") Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true })
  else members[name] = value
}

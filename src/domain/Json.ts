// In the language since ES2026, and in Node from 21 on, but not yet in TypeScript's libraries.
declare global {
  interface JSON {
    rawJSON(text: string): unknown
    isRawJSON(value: unknown): boolean
    parse(text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  }
}

/**
 * A JSON text that goes into an answer as it is, so that a tenant's own numbers are never rounded and an answer costs no more than its bytes. It was
 * read, and written compact, on its way in: what is no JSON would break the answer.
 */
export class RawJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  /** One value, and not an object with members, to whatever walks over a tree. */
  toJSON(): this {
    return this
  }
}

/** The value of a JSON text, with every number as the text that was written: exact to the digit. */
export const parseExact = (text: string): unknown => parseBoth(text).exact

/** The value as `JSON.parse` reads it, and the same with its numbers exact. The parser, asked for each number's text, takes many times as long. */
export const parseBoth = (text: string): Both => {
  // A provider's answer is read twice, one right after the other: for what is kept of it, and for what it means.
  if (last.text === text) return last.both
  const tree: unknown = JSON.parse(text)
  const both = { tree, exact: holdsNumber(tree) ? JSON.parse(withQuotedNumbers(text)) : tree }
  last = { text, both }
  return both
}

interface Both {
  readonly tree: unknown
  readonly exact: unknown
}
let last: { readonly text: string | null; readonly both: Both } = { text: null, both: { tree: null, exact: null } }

/** Only for what is JSON: there a digit or a minus outside of a string begins a number. */
const withQuotedNumbers = (text: string): string =>
  text.replace(STRING_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`))

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

const holdsNumber = (tree: unknown): boolean =>
  typeof tree === "number" || (typeof tree === "object" && tree !== null && Object.values(tree).some(holdsNumber))

/**
 * Compact JSON of a wire value. A bigint is money in minor units and becomes a JSON integer; MinorUnits keeps it within 2^53-1. A `RawJson` is put where
 * a hole was left for it: `JSON.stringify` takes no text as it is but that of a primitive.
 */
export const json = (value: unknown): string => pieces(value).join("")

/**
 * The same as bytes of UTF-8, for what is long. Each piece is encoded by itself: one character beyond ASCII anywhere in a text makes all of it ten times
 * as dear to encode.
 */
export const jsonBytes = (value: unknown): Uint8Array => Buffer.concat(pieces(value).map((piece) => Buffer.from(piece)))

const pieces = (value: unknown): ReadonlyArray<string> => {
  const texts: Array<string> = []
  const withHoles = JSON.stringify(value, (_key, member) => {
    if (typeof member === "bigint") return JSON.rawJSON(member.toString())
    if (!(member instanceof RawJson)) return member
    texts.push(member.text)
    return hole
  })
  if (texts.length === 0) return [withHoles]
  return withHoles.split(HOLE).flatMap((written, at) => (at === 0 ? written : [texts[at - 1] ?? "", written]))
}

/** The letter A as an escape, which `JSON.stringify` never writes, whatever a text holds: it escapes quotes, backslashes, control characters and surrogates. */
const HOLE = '"\\u0041"'
const hole = JSON.rawJSON(HOLE)

// Part of the language since ES2026, and of Node since 21, but not yet in TypeScript's libraries.
declare global {
  interface JSON {
    rawJSON(text: string): unknown
    isRawJSON(value: unknown): boolean
    parse(text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  }
}

/**
 * A JSON text that is embedded in an answer unchanged, so that a tenant's own numbers are never rounded and no time is spent
 * parsing it. It was validated and written compactly on its way in: a text that is not JSON would break the answer.
 */
export class RawJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  /** Makes it a single value, not an object with members, for code that walks over a tree. */
  toJSON(): this {
    return this
  }
}

/** The value of a JSON text, with every number as the text that was written: exact to the digit. */
export const parseExact = (text: string): unknown => parseBoth(text).exact

/** The value as `JSON.parse` reads it, and with exact numbers. A reviver with each source text would be many times slower. */
export const parseBoth = (text: string): Both => {
  // A provider's answer is parsed twice in a row: for the masked copy, and for its meaning.
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

/** Only for valid JSON: there, a digit or a minus outside a string begins a number. */
const withQuotedNumbers = (text: string): string =>
  text.replace(STRING_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`))

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

const holdsNumber = (tree: unknown): boolean =>
  typeof tree === "number" || (typeof tree === "object" && tree !== null && Object.values(tree).some(holdsNumber))

/**
 * Compact JSON of a wire value. A bigint is money in minor units and becomes a JSON integer; MinorUnits keeps it within 2^53-1.
 * A hole is written for a `RawJson`, and its text is inserted afterwards, because `JSON.stringify` copies no text but a
 * primitive's unchanged.
 */
export const json = (value: unknown): string => {
  const { texts, withHoles } = written(value)
  return texts.length === 0 ? withHoles : withHoles.replaceAll(HOLE, () => texts.shift() ?? "")
}

/** The same as UTF-8 bytes. Each piece is encoded by itself: one character beyond ASCII slows a whole text down tenfold. */
export const jsonBytes = (value: unknown): Uint8Array => {
  const { texts, withHoles } = written(value)
  const pieces = withHoles.split(HOLE).flatMap((piece, at) => (at === 0 ? piece : [texts[at - 1] ?? "", piece]))
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)))
}

const written = (value: unknown) => {
  const texts: Array<string> = []
  const withHoles = JSON.stringify(value, (_key, member) => {
    if (typeof member === "bigint") return JSON.rawJSON(member.toString())
    if (!(member instanceof RawJson)) return member
    texts.push(member.text)
    return hole
  })
  return { withHoles, texts }
}

/** The letter A as an escape, which `JSON.stringify` never writes: a letter needs none. */
const HOLE = '"\\u0041"'
const hole = JSON.rawJSON(HOLE)

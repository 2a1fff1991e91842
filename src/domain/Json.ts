// In the language since ES2026, and in Node from 21 on, but not yet in TypeScript's libraries.
declare global {
  interface JSON {
    rawJSON(text: string): unknown
    isRawJSON(value: unknown): boolean
    parse(text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  }
}

/** A JSON text that goes into an answer with its numbers exactly as they were written, so that a tenant's own are never rounded. */
export class RawJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  /** Called by `JSON.stringify`. Only a primitive can be raw, hence the text is taken apart and its numbers are kept as text. */
  toJSON(): unknown {
    const tree: unknown = JSON.parse(this.text)
    // To ask for each number's text takes several times as long.
    if (!holdsNumber(tree)) return tree
    return JSON.parse(this.text, (_key, value, { source }) =>
      typeof value === "number" && source !== undefined ? JSON.rawJSON(source) : value
    )
  }
}

/** The value of a JSON text, with every number as the text that was written: exact to the digit. */
export const parseExact = (text: string): unknown => parseBoth(text).exact

/** The value as `JSON.parse` reads it, and the same with its numbers exact. The parser, asked for each number's text, takes many times as long. */
export const parseBoth = (text: string): { readonly tree: unknown; readonly exact: unknown } => {
  const tree: unknown = JSON.parse(text)
  return { tree, exact: holdsNumber(tree) ? JSON.parse(withQuotedNumbers(text)) : tree }
}

/** Only for what is JSON: there a digit or a minus outside of a string begins a number. */
const withQuotedNumbers = (text: string): string =>
  text.replace(STRING_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`))

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

const holdsNumber = (tree: unknown): boolean =>
  typeof tree === "number" || (typeof tree === "object" && tree !== null && Object.values(tree).some(holdsNumber))

/** Compact JSON of a wire value. A bigint is money in minor units and becomes a JSON integer; MinorUnits keeps it within 2^53-1. */
export const json = (value: unknown): string =>
  JSON.stringify(value, (_key, member) => (typeof member === "bigint" ? JSON.rawJSON(member.toString()) : member))

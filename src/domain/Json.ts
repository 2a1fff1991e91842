// In the language since ES2026, and in Node from 21 on, but not yet in TypeScript's libraries.
declare global {
  interface JSON {
    rawJSON(text: string): unknown
  }
}

/** Text that is JSON already and is put into an answer as it stands, so that a tenant's own numbers are never rounded. */
export class RawJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  /** Serialised by `JSON.stringify` as the text itself. */
  toJSON(): unknown {
    return JSON.rawJSON(this.text)
  }
}

/** Compact JSON of a wire value. A bigint is money in minor units and becomes a JSON integer; MinorUnits keeps it within 2^53-1. */
export const json = (value: unknown): string => JSON.stringify(value, (_key, member) => (typeof member === "bigint" ? JSON.rawJSON(member.toString()) : member))

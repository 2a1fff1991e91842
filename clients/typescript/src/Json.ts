// JSON in which no integer loses a digit. `JSON.parse` alone rounds what is beyond 2^53.

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const LONG_INTEGER = /^-?\d{16,}$/
/** Begins the text that stands for a long integer. No text of the gateway holds this character. */
const MARK = "\0"
const MARKED = /^\0-?\d+$/

/**
 * An integer whose member is named `…_minor`, and any of 16 digits or more, is a bigint. Every other number is a number. Names within
 * `metadata` are the tenant's own, and say nothing.
 */
export const parse = (text: string): unknown =>
  withAmounts(
    JSON.parse(
      text.replace(TOKEN, (token) => (LONG_INTEGER.test(token) ? JSON.stringify(MARK + token) : token)),
      (_, value: unknown) => (typeof value === "string" && MARKED.test(value) ? BigInt(value.slice(MARK.length)) : value)
    )
  )

const withAmounts = (value: unknown, name = ""): unknown => {
  if (typeof value === "number") return name.endsWith("_minor") && Number.isInteger(value) ? BigInt(value) : value
  if (Array.isArray(value)) return value.map((one) => withAmounts(one))
  if (typeof value !== "object" || value === null || name === "metadata") return value
  return Object.fromEntries(Object.entries(value).map(([member, one]) => [member, withAmounts(one, member)]))
}

/** JSON text in place of a value. */
class Verbatim {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** JSON text that is sent as it stands, with every digit that it has, as a request or as a part of one. Whether it fits, the gateway says. */
export const verbatim = <Value>(text: string): Value => new Verbatim(text) as Value

/** `JSON.stringify` that writes a bigint as an integer. Members that are undefined are left out. */
export const stringify = (value: unknown): string => {
  if (value instanceof Verbatim) return value.text
  if (typeof value === "bigint") return value.toString()
  if (typeof value !== "object" || value === null || "toJSON" in value) return JSON.stringify(value) ?? "null"
  if (Array.isArray(value)) return `[${value.map(stringify).join()}]`
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${stringify(member)}`).join()}}`
}

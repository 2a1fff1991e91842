import { type Currency, isCurrency } from "./Currency.ts"
import { isReference, type Reference } from "./Ids.ts"
import { maskedText } from "./Masking.ts"
import { LARGEST_AMOUNT, type MinorUnits, minor } from "./Money.ts"
import type { Resolution } from "./Resolution.ts"

/** A line: a provider's statement about a transaction. Figures that it leaves out are the record's own. */
export interface FileRow {
  /** The line number in the file, from 1, counting the header. */
  readonly line: number
  readonly reference: Reference
  readonly outcome: Resolution["outcome"]
  readonly amount: MinorUnits | null
  readonly fee: MinorUnits | null
  /** The currency of the amount and of the fee; null only where the row has neither. */
  readonly currency: Currency | null
}

/** A line that no ruling can be made from. */
interface BadRow {
  readonly line: number
  /** Its reference, or the text in the place of it, masked. */
  readonly reference: string
  readonly why: string
}

export interface RulingFile {
  readonly rows: ReadonlyArray<FileRow>
  readonly bad: ReadonlyArray<BadRow>
}

/** Larger evidence is split into several files, because a second person examines each. */
export const ROWS_AT_MOST = 1_000
const LONGEST_SHOWN = 40

const columns = ["reference", "outcome", "fee_minor", "amount_minor", "currency"] as const
type Column = (typeof columns)[number]
const needed: ReadonlyArray<Column> = ["reference", "outcome"]

export const RULING_HEADER = "reference,outcome,fee_minor,currency"

/** Reads an evidence file: comma-separated values with a header. A string says in one line why the text is no such file. */
export const readRulingFile = (text: string): RulingFile | string => {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/)
  const first = lines.findIndex((line) => line.trim() !== "")
  const header = (lines[first] ?? "").trim().toLowerCase()
  const separator = [",", ";", "\t"].find((one) => header.includes(one)) ?? ","
  const names = cellsOf(header, separator)
  const missing = needed.filter((name) => !names.includes(name))
  if (missing.length > 0) return `the first line names the columns, and lacks ${missing.join(" and ")}: ${RULING_HEADER}`
  const unknown = names.filter((name) => !columns.some((column) => column === name))
  if (unknown.length > 0) return `there is no column ${maskedText(unknown.join(", "))}: they are ${columns.join(", ")}`
  if (new Set(names).size < names.length) return "a column is named twice"
  const body = lines
    .map((line, at) => ({ line: at + 1, text: line }))
    .filter(({ line, text }) => line > first + 1 && text.trim() !== "")
  if (body.length === 0) return "it has no line beside the header"
  if (body.length > ROWS_AT_MOST) return `it has ${body.length} lines: at most ${ROWS_AT_MOST} are ruled by one file`
  const read = body.map(({ line, text }) => rowOf(line, cellsOf(text, separator), names))
  const lineOf = new Map<string, ReadonlyArray<number>>()
  // A row that cannot be read still counts as a mention of its reference.
  for (const row of read) lineOf.set(row.reference, [...(lineOf.get(row.reference) ?? []), row.line])
  const judged = read.map((row) => {
    const twice = "why" in row ? [] : (lineOf.get(row.reference) ?? []).filter((line) => line !== row.line)
    if (twice.length === 0) return row
    return { line: row.line, reference: row.reference, why: `the reference stands on line ${twice.join(", ")} as well` }
  })
  return {
    rows: judged.flatMap((row) => ("why" in row ? [] : [row])),
    bad: judged.flatMap((row) => ("why" in row ? [row] : []))
  }
}

/** No value of such a file contains a separator or a line feed. */
const cellsOf = (line: string, separator: string): ReadonlyArray<string> =>
  line.split(separator).map((cell) =>
    cell
      .trim()
      .replace(/^"(.*)"$/, "$1")
      .trim()
  )

const rowOf = (line: number, cells: ReadonlyArray<string>, names: ReadonlyArray<string>): FileRow | BadRow => {
  const cell = (column: Column): string => cells[names.indexOf(column)] ?? ""
  const reference = cell("reference").toUpperCase()
  const named = isReference(reference) ? reference : maskedText(cell("reference").slice(0, LONGEST_SHOWN))
  const bad = (why: string): BadRow => ({ line, reference: named, why })
  // A row with fewer values may be the end of a file that was cut off.
  if (cells.length !== names.length) return bad(`it has ${cells.length} values, and the header names ${names.length}`)
  if (!isReference(reference)) return bad("the reference is none of ours: it has 26 characters")
  const outcome = cell("outcome").toLowerCase()
  if (outcome !== "successful" && outcome !== "failed") return bad("the outcome is successful or failed")
  const [fee, amount] = [amountOf(cell("fee_minor")), amountOf(cell("amount_minor"))]
  if (fee === undefined) return bad("fee_minor is a whole number of the currency's smallest unit, or empty")
  if (amount === undefined || amount === 0n)
    return bad("amount_minor is a whole number of the currency's smallest unit above 0, or empty")
  const currency = cell("currency").toUpperCase()
  if (currency !== "" && !isCurrency(currency)) return bad("the currency is not one that we know")
  if (currency === "" && (fee !== null || amount !== null)) return bad("a figure needs its currency")
  return { line, reference, outcome, fee, amount, currency: isCurrency(currency) ? currency : null }
}

/** Null where it is left out; undefined where it is no amount. */
const amountOf = (text: string): MinorUnits | null | undefined => {
  if (text === "") return null
  if (!/^\d{1,16}$/.test(text) || BigInt(text) > LARGEST_AMOUNT) return undefined
  return minor(BigInt(text))
}

/** The value of a field: a text, a whole number, or nothing. */
export type CsvValue = string | bigint | number | null

/** One record of CSV (RFC 4180), without its end. */
export const csvLine = (values: ReadonlyArray<CsvValue>): string => values.map(fieldOf).join(",")

/** Lines with the ends of RFC 4180. */
export const csvText = (lines: ReadonlyArray<string>): string => lines.map((line) => `${line}\r\n`).join("")

/**
 * Where a cell of a spreadsheet may begin within a text: at its beginning, after the end of a line, and, where the spreadsheet separates by
 * semicolons or tabs, after one of those, whatever quotes there are around the text.
 */
const FORMULA = /(?<=^|[;\t\r\n])(?=[=+\-@])|^(?=[\t\r\n])/g

/** A text that a spreadsheet would take for a formula has an apostrophe before it; a number, also a negative one, stays a number. */
const fieldOf = (value: CsvValue): string => {
  if (value === null) return ""
  if (typeof value !== "string") return value.toString()
  const harmless = value.replaceAll(FORMULA, "'")
  return /[",;\t\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

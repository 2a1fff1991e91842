/** The value of a field: a text, a whole number, or null for an empty field. */
export type CsvValue = string | bigint | number | null

/** One record of CSV (RFC 4180), without its line end. */
export const csvLine = (values: ReadonlyArray<CsvValue>): string => values.map(fieldOf).join(",")

/** Lines with the CRLF line ends of RFC 4180. */
export const csvText = (lines: ReadonlyArray<string>): string => lines.map((line) => `${line}\r\n`).join("")

/**
 * The places where a spreadsheet may start a cell within a text: at its beginning, after a line end and, where the spreadsheet
 * separates by semicolons or tabs, after one of those, whatever quotes surround the text.
 */
const FORMULA = /(?<=^|[;\t\r\n])(?=[=+\-@])|^(?=[\t\r\n])/g

/** A text that a spreadsheet would read as a formula is prefixed with an apostrophe. A number stays one, even if negative. */
const fieldOf = (value: CsvValue): string => {
  if (value === null) return ""
  if (typeof value !== "string") return value.toString()
  const harmless = value.replaceAll(FORMULA, "'")
  return /[",;\t\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** The value of a field: a text, a whole number, or nothing. */
export type CsvValue = string | bigint | number | null

/** One record of CSV (RFC 4180), without its end. */
export const csvLine = (values: ReadonlyArray<CsvValue>): string => values.map(fieldOf).join(",")

/** Lines with the ends of RFC 4180. */
export const csvText = (lines: ReadonlyArray<string>): string => lines.map((line) => `${line}\r\n`).join("")

/** A text that a spreadsheet would take for a formula begins with an apostrophe; a number, also a negative one, stays a number. */
const fieldOf = (value: CsvValue): string => {
  if (value === null) return ""
  if (typeof value !== "string") return value.toString()
  const harmless = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

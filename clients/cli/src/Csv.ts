import { Refusal } from "./Refusal.ts"

/** A row as a spreadsheet counts them: the heading is row 1, and an empty one counts, too. */
export interface Record {
  readonly row: number
  readonly cells: ReadonlyArray<string>
}

export interface Csv {
  readonly separator: string
  readonly records: ReadonlyArray<Record>
}

const separators: ReadonlyArray<string> = [",", ";", "\t"]
const MARK = "\ufeff"

/**
 * Reads a table by RFC 4180: cells between commas, in quotes where they hold one, a quote, or an end of line. Semicolons, as spreadsheets write
 * them where the comma is the decimal point, and tabs are understood. Refuses what cannot be read in one way only.
 */
export const readCsv = (bytes: Uint8Array): Csv => {
  const text = textOf(bytes)
  const heading = text
    .replace(/"(?:[^"]|"")*"/g, "")
    .split(/\r?\n/, 1)
    .join()
  const counted = separators.map((one) => [one, heading.split(one).length] as const)
  const [separator] = counted.reduce((most, one) => (one[1] > most[1] ? one : most))
  return { separator, records: recordsIn(text, separator) }
}

const textOf = (bytes: Uint8Array): string => {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.startsWith(MARK) ? text.slice(1) : text
  } catch {
    throw new Refusal("the file is not UTF-8: export it as CSV UTF-8")
  }
}

const recordsIn = (text: string, separator: string): ReadonlyArray<Record> => {
  const records: Array<Record> = []
  let [at, row] = [0, 1]
  let cells: Array<string> = []
  const end = (): void => {
    if (cells.some((cell) => cell !== "")) records.push({ row, cells })
    cells = []
    row++
  }
  while (at < text.length) {
    const cell = text[at] === '"' ? quoted(text, at, row) : plain(text, at, separator, row)
    cells.push(cell.text.trim())
    at = cell.end
    if (text[at] === separator) {
      at++
      if (at === text.length || /[\r\n]/.test(text[at] ?? "")) cells.push("")
    }
    const lineEnd = /^\r?\n/.exec(text.slice(at, at + 2))?.[0]
    if (lineEnd !== undefined) {
      at += lineEnd.length
      end()
    } else if (at < text.length && text[at - 1] !== separator)
      throw new Refusal(
        `row ${row}: after the quotes of a cell comes ${separator === "\t" ? "a tab" : separator} or the end of the line`
      )
  }
  end()
  return records
}

const quoted = (text: string, from: number, row: number) => {
  const found = /"((?:[^"]|"")*)"/y
  found.lastIndex = from
  const cell = found.exec(text)?.[1]
  if (cell === undefined) throw new Refusal(`row ${row}: a cell begins with a quote and never ends`)
  return { text: cell.replaceAll('""', '"'), end: found.lastIndex }
}

const plain = (text: string, from: number, separator: string, row: number) => {
  let end = from
  while (end < text.length && text[end] !== separator && text[end] !== "\n" && text.slice(end, end + 2) !== "\r\n") end++
  const cell = text.slice(from, end)
  if (cell.includes('"')) throw new Refusal(`row ${row}: a cell with a quote in it stands in quotes, and its own are doubled`)
  return { text: cell, end }
}

/** Cells in a line of a file that a spreadsheet opens: what begins a formula there is made harmless. */
export const csvLine = (cells: ReadonlyArray<string>): string =>
  `${cells
    .map((cell) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell))
    .map((cell) => (/[",;\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
    .join()}\r\n`

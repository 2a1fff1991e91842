/** Bounds a row. Without it, a quotation mark that is never closed would swallow the rest of the file. */
const LONGEST_ROW = 65_536

/** Reads a CSV file (RFC 4180) in pieces, and holds one row in memory at a time. */
interface CsvReader {
  readonly read: (text: string) => void
  /** Call after the last piece. False when the file ended inside a quoted value or a row was too long. */
  readonly end: () => boolean
}

/** Calls `onRow` for each row in order, the header first. Blank lines are skipped. */
export const csvReader = (onRow: (cells: ReadonlyArray<string>) => void): CsvReader => {
  let cells: Array<string> = []
  let cell = ""
  let length = 0
  let quotes: "none" | "open" | "closed" = "none"
  let isBroken = false

  const endCell = () => {
    cells.push(cell)
    cell = ""
    quotes = "none"
  }
  const endRow = () => {
    endCell()
    const row = cells
    cells = []
    length = 0
    if (row.some((one) => one.trim() !== "")) onRow(row)
  }
  const take = (character: string) => {
    if (quotes === "open") {
      if (character === '"') quotes = "closed"
      else cell += character
      return
    }
    if (character === ",") return endCell()
    if (character === "\n") return endRow()
    if (character === "\r") return
    if (character !== '"') cell += character
    // Two quotation marks inside a value stand for one.
    else if (quotes === "closed") {
      cell += character
      quotes = "open"
    } else if (cell === "") quotes = "open"
    else cell += character
  }
  return {
    read: (text) => {
      for (const character of text) {
        if (isBroken) return
        take(character)
        length += 1
        isBroken = length > LONGEST_ROW
      }
    },
    end: () => {
      if (isBroken || quotes === "open") return false
      endRow()
      return true
    }
  }
}

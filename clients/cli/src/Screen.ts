import { stringify } from "../../typescript/src/Json.ts"

/** Where a command is run. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Whether people read standard output on a terminal. */
  readonly isTerminal: boolean
  /** Standard output, a line at a time. */
  readonly out: (line: string) => void
  /** Standard error, a line at a time. */
  readonly err: (line: string) => void
  /** Standard error as a terminal: the text in place of the line that is being written. Absent where people do not see it move. */
  readonly overwrite?: (text: string) => void
  /** Stops the command. */
  readonly signal: AbortSignal
}

const colors = { good: 32, bad: 31, open: 33, quiet: 2 }

/** A text, and what its colour says on a terminal. */
export interface Colored {
  readonly text: string
  readonly as: keyof typeof colors
}

type Members = Readonly<Record<string, unknown>>

/**
 * Prints what a command has to say. What came from outside is in it to be seen and nothing else: no character of it steers the terminal, ends
 * a line or turns the order of what is read.
 */
export class Screen {
  readonly terminal: Terminal
  /** `--json`: JSON documents on standard output, for programs. */
  readonly asJson: boolean

  constructor(terminal: Terminal, asJson: boolean) {
    this.terminal = terminal
    this.asJson = asJson
  }

  /** A result: as JSON, or for people the same members, unless there are lines of its own. */
  result(view: object, forPeople: ReadonlyArray<string> = lines({ ...view })): void {
    if (this.asJson) return this.json(view)
    for (const line of forPeople) this.terminal.out(visible(line))
  }

  json(view: unknown): void {
    this.terminal.out(visible(stringify(view)))
  }

  /** One line on standard output, with colours on a terminal where `NO_COLOR` does not forbid them. */
  line(...pieces: ReadonlyArray<Colored | string>): void {
    const { environment, isTerminal, out } = this.terminal
    const isColored = isTerminal && !environment["NO_COLOR"]
    const shown = pieces.map((piece) => {
      const text = visible(typeof piece === "string" ? piece : piece.text)
      return typeof piece === "string" || !isColored ? text : `\u001b[${colors[piece.as]}m${text}\u001b[0m`
    })
    out(shown.join(""))
  }

  /** A bar, on a terminal only. */
  progress(all: number, words: ReadonlyArray<string>, done: number): void {
    const full = Math.round((BAR * done) / Math.max(1, all))
    this.terminal.overwrite?.(`[${"#".repeat(full)}${"-".repeat(BAR - full)}] ${done}/${all}, ${words.join(", ")}`)
  }

  progressEnds(): void {
    this.terminal.overwrite?.("")
  }

  /** One line on standard error. */
  note(text: string): void {
    this.terminal.err(visible(text))
  }
}

const BAR = 30

const good = new Set(["successful"])
const bad = new Set(["failed", "expired"])

/** A transaction's status, with its colour. */
export const statusOf = (text: string): Colored => ({ text, as: good.has(text) ? "good" : bad.has(text) ? "bad" : "open" })

/** Rows with those of their members under a heading, a row a line. */
export const table = (rows: ReadonlyArray<Members>, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (rows.length === 0) return ["none"]
  const cells = [names, ...rows.map((row) => names.map((name) => cell(row, name)))]
  const widths = names.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
  return cells.map((row) =>
    row
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd()
  )
}

/** A member a line, and amounts in major units with the minor units beside them. */
const lines = (members: Members, indent = ""): ReadonlyArray<string> => {
  const width = Math.max(0, ...Object.keys(members).map(({ length }) => length))
  return Object.entries(members).flatMap(([name, value]) =>
    isMembers(value)
      ? [`${indent}${name}`, ...lines(value, `${indent}  `)]
      : [`${indent}${name.padEnd(width)}  ${cell(members, name)}`]
  )
}

const isMembers = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value)

const cell = (members: Members, name: string): string => {
  const value = members[name]
  if (value === null || value === undefined) return "-"
  if (typeof value === "object") return visible(stringify(value))
  const currency = currencyOf(members, name)
  if (typeof value !== "bigint" || currency === undefined) return visible(String(value))
  return money(value, currency)
}

/** An amount for people, with the minor units beside it. */
export const money = (value: bigint, currency: string): string => `${currency} ${decimal(value, currency)} (${value} minor)`

/** The currency that stands beside an amount: `observed_amount_minor` has `observed_currency`, `amount_minor` has `amount_currency`. */
const currencyOf = (members: Members, name: string): string | undefined => {
  const stem = name.replace(/_minor$/, "")
  const currency = [`${stem}_currency`, `${stem.replace(/_amount$/, "")}_currency`, "currency"]
    .map((one) => members[one])
    .find((one) => one !== undefined)
  return stem !== name && typeof currency === "string" && /^[A-Z]{3}$/.test(currency) ? currency : undefined
}

const decimal = (minor: bigint, currency: string): string => {
  const { maximumFractionDigits: digits = 0 } = new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions()
  const text = String(minor < 0n ? -minor : minor).padStart(digits + 1, "0")
  const point = text.length - digits
  return `${minor < 0n ? "-" : ""}${text.slice(0, point)}${digits === 0 ? "" : `.${text.slice(point)}`}`
}

/** Controls, line separators, format characters (those that turn the order among them), characters without width, halves of characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** The text on one line, with each such character as an escape of JSON. */
const visible = (text: string): string =>
  text.replace(UNSEEN, (character) =>
    character === "\n"
      ? "\\n"
      : Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
          ""
        )
  )

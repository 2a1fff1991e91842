import { Console, Effect } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { isCurrency } from "../domain/Currency.ts"
import { json } from "../domain/Json.ts"
import { toDecimal } from "../domain/Money.ts"
import { visibleText } from "../domain/VisibleText.ts"

/** `--json`: one JSON document on standard output, for programs. */
export const AsJson = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(Flag.withDefault(false), Flag.withDescription("print one JSON document on standard output"))
})

/**
 * Prints a command's result: its view as JSON, or for people: either `forPeople`, or the view's members as text. Text from
 * outside is only shown: none of its characters can control the terminal, end a line or change the reading direction.
 */
export const printResult = Effect.fnUntraced(function* (
  view: unknown,
  forPeople?: ReadonlyArray<string>,
  /** The members that people need, where the view has more. */
  shorter: unknown = view
) {
  const asJson = yield* AsJson
  yield* Console.log(asJson ? visibleText(json(view)) : forPeople === undefined ? asText(shorter) : visibleLines(forPeople))
})

/** Prints messages for people on standard output; each text is one line. */
export const printLines = (...lines: ReadonlyArray<string>): Effect.Effect<void> => Console.log(visibleLines(lines))

/** Prints errors on standard error; each text is one line. */
export const printErrors = (...lines: ReadonlyArray<string>): Effect.Effect<void> => Console.error(visibleLines(lines))

const visibleLines = (lines: ReadonlyArray<string>): string => lines.map(visibleText).join("\n")

type Members = Readonly<Record<string, unknown>>

/**
 * A view for people: one line per member, one line per row of a list, and amounts in major units with the minor units beside
 * them. Rows that contain lists are printed one below the other. No text can break its line or control the terminal.
 */
export const asText = (view: unknown): string => {
  if (!Array.isArray(view)) return isMembers(view) ? lines(view).join("\n") : scalar(view)
  if (view.length === 0) return "none"
  const rows = view.filter(isMembers)
  return rows.some((row) => Object.values(row).some(isRows))
    ? rows.map((row) => lines(row).join("\n")).join("\n\n")
    : table(view.map(cells))
}

const lines = (members: Members, indent = ""): ReadonlyArray<string> => {
  const width = Math.max(...Object.keys(members).map((name) => visibleText(name).length))
  return Object.entries(members).flatMap(([key, value]) => {
    const name = visibleText(key)
    if (isRows(value)) {
      return [
        `${indent}${name}`,
        ...table(value.map(cells))
          .split("\n")
          .map((row) => `${indent}  ${row}`)
      ]
    }
    if (isMembers(value)) return [`${indent}${name}`, ...lines(value, `${indent}  `)]
    return [`${indent}${name.padEnd(width)}  ${cell(members, key)}`]
  })
}

const cells = (row: unknown): Members =>
  isMembers(row) ? Object.fromEntries(Object.keys(row).map((name) => [name, cell(row, name)])) : { value: scalar(row) }

const table = (rows: ReadonlyArray<Members>): string => {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const columns = names.map((name) => ({
    name,
    width: Math.max(visibleText(name).length, ...rows.map((row) => scalar(row[name] ?? "").length))
  }))
  const line = (text: (name: string) => string): string =>
    columns
      .map(({ name, width }) => text(name).padEnd(width))
      .join("  ")
      .trimEnd()
  return [line(visibleText), ...rows.map((row) => line((name) => scalar(row[name] ?? "")))].join("\n")
}

const cell = (members: Members, name: string): string => {
  const value = members[name]
  const currency = currencyOf(members, name)
  if (typeof value !== "bigint" || !isCurrency(currency)) return scalar(value)
  return `${currency} ${toDecimal(value, currency)} (${value} minor)`
}

/** The currency of an amount: `observed_amount_minor` has `observed_currency`, `amount_minor` has `amount_currency`. */
const currencyOf = (members: Members, name: string): unknown => {
  if (!name.endsWith("_minor")) return undefined
  const stem = name.slice(0, -"_minor".length)
  return members[`${stem}_currency`] ?? members[`${stem.replace(/_amount$/, "")}_currency`] ?? members["currency"]
}

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !("toJSON" in value)

const isRows = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value) && value.some(isMembers)

const scalar = (value: unknown): string => visibleText(written(value))

const written = (value: unknown): string => {
  if (value === null || value === undefined) return "-"
  if (isRows(value)) return json(value)
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.join(",")
  if (typeof value === "object") return json(value)
  return String(value)
}

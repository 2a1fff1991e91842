import { stripVTControlCharacters } from "node:util"

// What the output of tests says of a planted mistake.

/** A process that has ended, and what it printed. */
export interface Run {
  readonly code: number | null
  readonly text: string
}

export interface Told {
  readonly outcome: "caught" | "missed" | "broken"
  readonly by: "test"
  readonly seeds: null
  readonly said: string
}

/** The mistake is in no valid statement, such as one of a wrong type, and so breaks no promise. */
const INVALID_STATEMENT = /SqlSyntaxError/
const SAID_BY_POSTGRESQL = /\bcause: (?:Error|error): (.*)/

/** The first test that failed and its error, with what PostgreSQL said where it is PostgreSQL's. */
export const toldBy = ({ code, text: printed }: Run): Told => {
  const text = stripVTControlCharacters(printed)
  const told = (outcome: Told["outcome"], said: string): Told => ({ outcome, by: "test", seeds: null, said })
  const failed = /^ *FAIL +(.*)\n(?: *FAIL .*\n)*(.*)$/m.exec(text)
  if (failed === null) return code === 0 ? told("missed", "") : told("broken", lastLine(text))
  const [, title, error = ""] = failed
  const refused = error.includes("SqlError") ? `, ${SAID_BY_POSTGRESQL.exec(text)?.[1] ?? ""}` : ""
  return told(INVALID_STATEMENT.test(text) ? "broken" : "caught", `${title}: ${error}${refused}`)
}

export const lastLine = (text: string): string => text.trim().split("\n").at(-1) ?? ""

import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { commitPlayed, mustStillPlay } from "./Commit.ts"

// Long runs that are not parts of a sum: a line of docs/reliability/runs.jsonl for each, whatever it found, and what
// docs/reliability/runs.md shows of them.

const RECORD = join(import.meta.dirname, "..", "..", "docs", "reliability", "runs.jsonl")

export interface Run {
  readonly date: string
  readonly commit: string
  readonly command: string
  /** What it exited with. */
  readonly ok: boolean
  readonly figures: Readonly<Record<string, unknown>>
}

/**
 * Asked for before the run begins, so that one which cannot be put on record does not start. What it gives puts `npm run SCRIPT` on record, with
 * the options that this process was started with; it does nothing where nobody asked for a record.
 */
export const runRecorder = (script: string, isForRecord: boolean) => {
  const commit = commitPlayed(isForRecord)
  return (ok: boolean, figures: Run["figures"]): void => {
    if (isForRecord) put({ script, commit, ok, figures })
  }
}

interface Ended extends Pick<Run, "commit" | "ok" | "figures"> {
  readonly script: string
}

const put = ({ commit, figures, ok, script }: Ended): void => {
  mustStillPlay(commit)
  const given = process.argv.slice(2).filter((one) => one !== "--record")
  const command = [`npm run ${script}`, ...(given.length === 0 ? [] : ["--", ...given])].join(" ")
  const run: Run = { date: new Date().toISOString().slice(0, 10), commit, command, ok, figures }
  appendFileSync(RECORD, `${JSON.stringify(run)}\n`)
}

export const runs = (): ReadonlyArray<Run> =>
  (existsSync(RECORD) ? readFileSync(RECORD, "utf8") : "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

/** The rows of the page's table: all figures of each run, as the run printed them. */
export const rows = (all: ReadonlyArray<Run>): ReadonlyArray<string> =>
  all.map(
    ({ command, commit, date, figures, ok }) =>
      `| \`${command}\` | ${date}, ${commit} | ${ok ? "passed" : "**failed**"} | ${shown(figures).join(", ")} |`
  )

const shown = (figures: Run["figures"]): ReadonlyArray<string> =>
  Object.entries(figures).map(([name, value]) => `${name.replaceAll("_", " ")} ${said(value)}`)

const said = (value: unknown): string => {
  if (typeof value === "number") return value.toLocaleString("en-US")
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(said).join(" ")
  if (typeof value === "object" && value !== null)
    return `(${Object.entries(value)
      .map(([name, one]) => `${name} ${said(one)}`)
      .join(", ")})`
  return String(value)
}

// As a command it prints them.
if (process.argv[1] === import.meta.filename) for (const row of rows(runs())) console.log(row)

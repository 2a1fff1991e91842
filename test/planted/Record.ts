import { writeFileSync } from "node:fs"
import { basename, resolve } from "node:path"
import type { Bug } from "./Bug.ts"

/** What became of one mistake in the last whole run that is on record. */
export interface Recorded {
  readonly name: string
  readonly outcome: "caught" | "missed" | "does not apply" | "broken"
  /** Stories that were played, the failing one among them; null for a test. */
  readonly stories: number | null
  /** The fault of the story, or the first test that failed and its error. */
  readonly said: string
}

export interface Run {
  readonly date: string
  readonly commit: string
  readonly mistakes: ReadonlyArray<Recorded>
}

export const RECORD = resolve(import.meta.dirname, "..", "..", "docs", "reliability", "planted.json")

export const record = (run: Run): void => writeFileSync(RECORD, `${JSON.stringify(run, null, 2)}\n`)

/** The rows of the table in docs/reliability/mistakes.md, for the mistakes that are planted now. */
export const rows = (bugs: ReadonlyArray<Bug>, { mistakes }: Run): ReadonlyArray<string> =>
  bugs.map(({ breaks, name, test }) => {
    const found = mistakes.find((one) => one.name === name)
    const by = test === undefined ? `simulation, story ${found?.stories}` : `[${basename(test, ".test.ts")}](../../${test})`
    return `| ${name} | ${breaks} | ${found?.outcome === "caught" ? by : (found?.outcome ?? "never run")} |`
  })

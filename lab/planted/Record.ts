import { readFileSync, writeFileSync } from "node:fs"
import { basename, resolve } from "node:path"
import type { Bug } from "./Bug.ts"

/** What became of one mistake when it was planted last for the record. */
export interface Recorded {
  readonly name: string
  readonly date: string
  readonly commit: string
  readonly outcome: "caught" | "missed" | "does not apply" | "broken"
  /** Stories that were played, the failing one among them; null for a test. */
  readonly stories: number | null
  /** The fault of the story, or the first test that failed and its error. */
  readonly said: string
}

export const RECORD = resolve(import.meta.dirname, "..", "..", "docs", "reliability", "planted.json")

export const recorded = (): ReadonlyArray<Recorded> => JSON.parse(readFileSync(RECORD, "utf8"))

/** In place of what is on record of the same mistake; of one that is not in the list any more nothing stays. */
export const record = (bugs: ReadonlyArray<Bug>, result: Recorded): void => {
  const before = recorded()
  const mistakes = bugs.flatMap(({ name }) => (name === result.name ? result : (before.find((one) => one.name === name) ?? [])))
  writeFileSync(RECORD, `${JSON.stringify(mistakes, null, 2)}\n`)
}

/** Whether it is not on record yet that the check of today notices it. */
export const isDue = (mistakes: ReadonlyArray<Recorded>, { name, test }: Bug): boolean =>
  !mistakes.some((one) => one.name === name && one.outcome === "caught" && (one.stories === null) === (test !== undefined))

/** The rows of the table in docs/reliability/mistakes.md, for the mistakes that are planted now. */
export const rows = (bugs: ReadonlyArray<Bug>, mistakes: ReadonlyArray<Recorded>): ReadonlyArray<string> =>
  bugs.map(({ breaks, name, test }) => {
    const found = mistakes.find((one) => one.name === name)
    const by = test === undefined ? `simulation, story ${found?.stories}` : `[${basename(test).split(".", 1)[0]}](../../${test})`
    return `| ${name} | ${breaks} | ${found?.outcome === "caught" ? by : (found?.outcome ?? "never run")} |`
  })

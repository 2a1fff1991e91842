import { writeFileSync } from "node:fs"
import { basename, resolve } from "node:path"
import type { Bug } from "./Bug.ts"

/** What became of one mistake in the last whole run that is on record. */
export interface Recorded {
  readonly name: string
  readonly outcome: "caught" | "missed" | "does not apply" | "broken"
  /** Stories that were played, the failing one among them; null for a test. */
  readonly stories: number | null
  /** The fault of the story, or the test that failed. */
  readonly said: string
}

export interface Run {
  readonly date: string
  readonly commit: string
  readonly mistakes: ReadonlyArray<Recorded>
}

export const RECORD = resolve(import.meta.dirname, "..", "..", "docs", "reliability", "planted.json")

/** A mistake a line, so that a change of one is a change of its line. */
export const record = ({ mistakes, ...about }: Run): void => {
  const lines = mistakes.map((one) => `    ${JSON.stringify(one, null, 1).replaceAll(/\n */g, " ")}`)
  writeFileSync(RECORD, `${JSON.stringify(about, null, 2).slice(0, -2)},\n  "mistakes": [\n${lines.join(",\n")}\n  ]\n}\n`)
}

/** The rows of the table in docs/reliability/mistakes.md, for the mistakes that are planted now. */
export const rows = (bugs: ReadonlyArray<Bug>, { mistakes }: Run): ReadonlyArray<string> =>
  bugs.map(({ breaks, name, test }) => {
    const found = mistakes.find((one) => one.name === name)
    const by = test === undefined ? `simulation, story ${found?.stories}` : `[${basename(test, ".test.ts")}](../../${test})`
    return `| ${name} | ${breaks} | ${found?.outcome === "caught" ? by : (found?.outcome ?? "never run")} |`
  })

import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { SWAPPING_FROM } from "./Accounts.ts"
import { DECLARED_FROM } from "./Declared.ts"
import { EVENTFUL_FROM } from "./Events.ts"
import { RESTORED_FROM } from "./Restores.ts"
import type { Outcome } from "./Simulation.ts"
import { UNSTEADY_FROM } from "./Unsteady.ts"

// The stories that were played for the record, and what docs/reliability/simulation.md says of them.

const root = join(import.meta.dirname, "..", "..")
const RECORD = join(root, "docs", "reliability", "stories.jsonl")

/** Stories of one seed after another, which one commit played. */
export interface Part {
  readonly date: string
  readonly commit: string
  readonly first: number
  readonly seeds: number
  readonly steps: number
  readonly operations: number
  readonly movements: number
  readonly crashes: number
  readonly jumps: number
  readonly rulings: number
  /** Stories in which something was wrong. */
  readonly faults: number
}

export const parts = (): ReadonlyArray<Part> =>
  (existsSync(RECORD) ? readFileSync(RECORD, "utf8") : "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

/** Seeds that are played alike. */
interface Seeds {
  readonly first: number
  readonly seeds: number
  readonly steps: number
}

/** The recorded part that has one of these stories already. */
export const playedBefore = (all: ReadonlyArray<Part>, { first, seeds, steps }: Seeds): Part | undefined =>
  ofKind(all, { first, steps }).find((one) => one.first < first + seeds && first < one.first + one.seeds)

/** The first seed from `first` on that is after all that are recorded of its kind. */
export const nextSeed = (all: ReadonlyArray<Part>, { first, steps }: Pick<Seeds, "first" | "steps">): number =>
  Math.max(first, ...ofKind(all, { first, steps }).map((one) => one.first + one.seeds))

const ofKind = (all: ReadonlyArray<Part>, { first, steps }: Pick<Seeds, "first" | "steps">): ReadonlyArray<Part> =>
  all.filter((one) => one.steps === steps && kindOf(one.first) === kindOf(first))

/** Nothing yet; the commit is that of the program which plays, whatever is checked out meanwhile. */
export const emptyPart = ({ commit, first, steps }: Pick<Part, "commit" | "first" | "steps">): Part => ({
  date: new Date().toISOString().slice(0, 10),
  commit,
  first,
  seeds: 0,
  steps,
  operations: 0,
  movements: 0,
  crashes: 0,
  jumps: 0,
  rulings: 0,
  faults: 0
})

export const withStory = (part: Part, played: Omit<Outcome, "story">): Part => ({
  ...part,
  seeds: part.seeds + 1,
  operations: part.operations + played.operations,
  movements: part.movements + played.movements,
  crashes: part.crashes + played.crashes,
  jumps: part.jumps + played.jumps,
  rulings: part.rulings + played.reviewed,
  faults: part.faults + (played.faults.length === 0 ? 0 : 1)
})

export const record = (part: Part): void => appendFileSync(RECORD, `${JSON.stringify(part)}\n`)

const kinds = [
  [DECLARED_FROM, "declared"],
  [UNSTEADY_FROM, "unsteady"],
  [RESTORED_FROM, "restored"],
  [SWAPPING_FROM, "swapping"],
  [EVENTFUL_FROM, "eventful"]
] as const

const kindOf = (seed: number): string => kinds.find(([from]) => seed >= from)?.[1] ?? "ordinary"

const number = (value: number): string => value.toLocaleString("en-US")

/** The rows of the page's table: a row for each kind and length, and one for all. */
export const sums = (all: ReadonlyArray<Part>): ReadonlyArray<string> => {
  const row = (kind: string, steps: string, of: ReadonlyArray<Part>) => {
    const sum = (count: (part: Part) => number) => number(of.reduce((total, part) => total + count(part), 0))
    const counts = [
      sum(({ seeds }) => seeds),
      sum(({ operations }) => operations),
      sum(({ movements }) => movements),
      sum(({ crashes }) => crashes),
      sum(({ rulings }) => rulings),
      sum(({ faults }) => faults)
    ]
    return `| ${[kind, steps, ...counts].join(" | ")} |`
  }
  const groups = Map.groupBy(all, ({ first, steps }) => `${kindOf(first)} ${steps}`)
  const rows = [...groups].toSorted(([one], [other]) => one.localeCompare(other, "en", { numeric: true }))
  return [...rows.map(([name, of]) => row(name.split(" ")[0] ?? "", name.split(" ")[1] ?? "", of)), row("all", "any", all)]
}

// As a command it prints them.
if (process.argv[1] === import.meta.filename) for (const row of sums(parts())) console.log(row)

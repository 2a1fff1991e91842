import { existsSync, readFileSync } from "node:fs"
import type { What } from "./Case.ts"
import type { Counts } from "./Play.ts"

/** One run as it is kept: one line of JSON. */
export interface Run {
  readonly date: string
  readonly commit: string
  readonly command: string
  readonly seed: number
  readonly seconds: number
  readonly parts: ReadonlyArray<Counts>
  readonly ledger_ok: boolean
  readonly resident_megabytes: number
  readonly found: number
}

export const lineOf = (run: Run): string => JSON.stringify(run)

export const runsIn = (file: string): ReadonlyArray<Run> =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line): Run => JSON.parse(line))
    : []

/** The number of the first case of a seed that no run in the file has played. */
export const playedBefore = (file: string, seed: number, what: What): number =>
  Math.max(
    0,
    ...runsIn(file)
      .filter((run) => run.seed === seed)
      .flatMap(({ parts }) => parts)
      .filter((part) => part.what === what)
      .map(({ until }) => until)
  )

/** Requests of each kind over all runs, of each provider's callbacks, and wrong signatures: a replayed request holds until it is replayed. */
export const sumsOf = (runs: ReadonlyArray<Run>) => {
  const sums: Record<string, number> = {}
  const add = (name: string, count: number) => {
    sums[name] = (sums[name] ?? 0) + count
  }
  for (const { found, parts, seconds } of runs) {
    add("runs", 1)
    add("seconds", seconds)
    add("found", found)
    for (const { of, requests, statuses, what } of parts) {
      add("requests", requests)
      add(what, requests)
      if (what === "signed") add("wrong signatures", statuses["401"] ?? 0)
      for (const [name, count] of Object.entries(of)) add(`callbacks of ${name}`, count)
    }
  }
  return sums
}

import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { FittedLine } from "./Trend.ts"
import { type Judged, rules, SHORTEST_MINUTES, verdictsOf } from "./Verdict.ts"

// What docs/reliability/soak.md says of docs/reliability/soak.jsonl.

export const RECORD = join(import.meta.dirname, "..", "..", "docs", "reliability", "soak.jsonl")

/** One part, as it ended; one that could not be accounted for has no counts. */
export interface Part extends Judged {
  readonly operations: number
  readonly webhooks: number
  readonly failed: number
  readonly faults: number
  readonly open?: number
  readonly lost?: number
  readonly doubled?: number
  readonly invented?: number
  readonly wrong_floats?: number
  readonly missed_webhooks?: number
  readonly unexplained?: number
  readonly ledger_ok?: boolean
  readonly audit_ok?: boolean
}

export const parts = (): ReadonlyArray<Part> =>
  (existsSync(RECORD) ? readFileSync(RECORD, "utf8") : "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

const number = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 1 })

/** The rows of the page's table. */
export const sums = (all: ReadonlyArray<Part>): ReadonlyArray<string> => {
  const sum = (of: (part: Part) => number | undefined) => number(all.reduce((total, part) => total + (of(part) ?? 0), 0))
  const rows: ReadonlyArray<readonly [what: string, how: string]> = [
    ["Parts", number(all.length)],
    ["Hours", sum(({ minutes }) => minutes / 60)],
    ["Money operations", sum(({ operations }) => operations)],
    ["of them first answered by 429, 5xx or nothing", sum(({ failed }) => failed)],
    ["Webhooks received", sum(({ webhooks }) => webhooks)],
    ["Lost", sum(({ lost }) => lost)],
    ["Doubled", sum(({ doubled }) => doubled)],
    ["Invented", sum(({ invented }) => invented)],
    ["Wrong floats", sum(({ wrong_floats }) => wrong_floats)],
    ["Events not delivered", sum(({ missed_webhooks }) => missed_webhooks)],
    ["Differences of `reconcile` without an explanation", sum(({ unexplained }) => unexplained)],
    ["`ledger verify` not ok", sum(({ ledger_ok }) => (ledger_ok === false ? 1 : 0))],
    ["`audit verify` not ok", sum(({ audit_ok }) => (audit_ok === false ? 1 : 0))],
    ["Open at the end", sum(({ open }) => open)],
    ["Parts that could not be accounted for", sum(({ lost }) => (lost === undefined ? 1 : 0))],
    ["Faults of any kind", sum(({ faults }) => faults)],
    ...rules.flatMap(({ atMost, name, series }) =>
      atMost === undefined ? [] : [[`${name}; at most ${number(atMost)}`, worst(all, series)] as const]
    )
  ]
  return rows.map(([what, how]) => `| ${what} | ${how} |`)
}

interface Found {
  readonly line: FittedLine
  readonly verdict: string
  /** Whether the part was long enough for each verdict. */
  readonly isLong: boolean
}

/** The steepest line of all parts whose verdict is the worst. */
const worst = (all: ReadonlyArray<Part>, series: RegExp): string => {
  const found = all.flatMap((part) =>
    verdictsOf(part).flatMap(({ series: name, verdict }): ReadonlyArray<Found> => {
      const line = part.trends[name]
      return line === undefined || !series.test(name) ? [] : [{ line, verdict, isLong: part.minutes >= SHORTEST_MINUTES }]
    })
  )
  const of = (verdict: string, some = found) => some.filter((one) => one.verdict === verdict)
  const long = found.filter(({ isLong }) => isLong)
  const steepest =
    [of("grows"), of("uncertain", long), of("ok", long), of("ok"), of("uncertain")].find((some) => some.length > 0) ?? []
  const [first] = steepest.toSorted((one, other) => other.line.slope - one.line.slope)
  if (first === undefined) return "not measured"
  const lines = ["ok", "grows", "uncertain"].map((verdict) => `${of(verdict).length} ${verdict}`)
  return `${number(first.line.slope)} ± ${number(first.line.give_or_take)} (${lines.join(", ")})`
}

// As a command it prints them, and what is said of each part.
if (process.argv[1] === import.meta.filename) {
  for (const row of sums(parts())) console.log(row)
  for (const part of parts()) console.table(verdictsOf(part))
}

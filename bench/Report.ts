import { cpus } from "node:os"
import type { Cluster } from "./Cluster.ts"

// Every figure is a ratio: something of ours beside what people would otherwise use, both measured in this run.

/** One figure and what it has to reach. */
export interface Part {
  readonly name: string
  /** What `theirs` is, in a few words. */
  readonly against: string
  /** Left out where the figure is only shown. */
  readonly target?: number
  /** A ratio of times or sizes must not exceed its target; every other has to reach it. */
  readonly atMost?: true
  readonly run: (cluster: Cluster, effort: Effort) => Promise<Measured>
}

/** How much time a part may take. */
export interface Effort {
  /** How often ours and theirs are measured in turn. */
  readonly rounds: number
  readonly secondsARound: number
  /** A short look: the figures mean little. */
  readonly quick: boolean
}

export interface Measured {
  readonly ours: number
  /** Undefined where it was not measured; `note` says why. */
  readonly theirs: number | undefined
  readonly unit: string
  readonly ratio: number | undefined
  /** Where the target is missed whatever the ratio says; `note` says why. */
  readonly reached?: false
  readonly note?: string
  /** What does not fit into the table: the rounds one by one, percentiles, counts. */
  readonly details: Readonly<Record<string, unknown>>
}

export interface Row extends Omit<Measured, "reached"> {
  readonly name: string
  readonly against: string
  readonly target: number | undefined
  readonly atMost: boolean
  readonly reached: boolean | undefined
  readonly seconds: number
}

const LONGEST_NOTE = 200

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

/** The value that this share of the values does not exceed. */
export const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * share) - 1)] ?? Number.NaN

/** Both sides in turn, and each round's order turned round, so that what else the machine does hits both. The first round warms up and is left out. */
export const inTurn = async (
  { rounds }: Pick<Effort, "rounds">,
  ours: (round: number) => Promise<number>,
  theirs: (round: number) => Promise<number>
): Promise<Pick<Measured, "ours" | "theirs" | "ratio"> & { readonly rounds: ReadonlyArray<readonly [number, number]> }> => {
  const measured: Array<readonly [number, number]> = []
  for (let round = 0; round <= rounds; round++) {
    const first = round % 2 === 0 ? await ours(round) : await theirs(round)
    const second = round % 2 === 0 ? await theirs(round) : await ours(round)
    if (round > 0) measured.push(round % 2 === 0 ? [first, second] : [second, first])
  }
  return {
    ours: median(measured.map(([one]) => one)),
    theirs: median(measured.map(([, other]) => other)),
    ratio: median(measured.map(([one, other]) => one / other)),
    rounds: measured
  }
}

/** One measurement for several parts of a run. */
export const shared = <A>(measure: (cluster: Cluster, effort: Effort) => Promise<A>) => {
  const measured = new WeakMap<Cluster, Promise<A>>()
  return (cluster: Cluster, effort: Effort): Promise<A> => {
    const running = measured.get(cluster) ?? measure(cluster, effort)
    measured.set(cluster, running)
    return running
  }
}

/** Ours beside a limit, for a part whose target is 1 at most. */
export const within = (limit: number, ours: number): Pick<Measured, "ours" | "theirs" | "ratio"> => ({
  ours,
  theirs: limit,
  ratio: ours / limit
})

export const rowOf = (part: Part, measured: Measured, seconds: number): Row => {
  const { against, atMost = false, name, target } = part
  const { ratio } = measured
  const reached = ratio === undefined || target === undefined ? undefined : atMost ? ratio <= target : ratio >= target
  return { name, against, target, atMost, seconds, ...measured, reached: measured.reached ?? reached }
}

/** Of a part that could not be measured to its end. */
export const failedWith = (cause: unknown): Measured => {
  const text = cause instanceof Error ? cause.message : String(cause)
  const note = `failed: ${text.split("\n", 1)[0]?.slice(0, LONGEST_NOTE)}`
  return { ours: Number.NaN, theirs: undefined, unit: "-", ratio: undefined, reached: false, note, details: { failure: text } }
}

/** What a reader has to know about the machine before the figures mean anything. */
export const machineOf = async (cluster: Cluster): Promise<Readonly<Record<string, string | number>>> => {
  const [settings] = await cluster.query(
    `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
      current_setting('synchronous_commit') AS synchronous_commit, current_setting('shared_buffers') AS shared_buffers`
  )
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model ?? "",
    node: process.version,
    postgresql: String(settings?.["version"]),
    fsync: String(settings?.["fsync"]),
    synchronous_commit: String(settings?.["synchronous_commit"]),
    shared_buffers: String(settings?.["shared_buffers"])
  }
}

export const tableOf = (rows: ReadonlyArray<Row>): string =>
  columns(
    ["part", "ours", "theirs", "unit", "ratio", "target", "reached", "against"],
    rows.map((row) => [
      row.name,
      figure(row.ours),
      row.theirs === undefined ? "not measured" : figure(row.theirs),
      row.unit,
      row.ratio === undefined ? "-" : times(row.ratio),
      targetOf(row),
      row.reached === undefined ? "-" : row.reached ? "yes" : "NO",
      row.against + (row.note === undefined ? "" : ` (${row.note})`)
    ])
  )

/** Of several runs: each part's median, and the least and the most of its ratio. */
export const summaryOf = (runs: ReadonlyArray<ReadonlyArray<Row>>): string =>
  columns(
    ["part", "ours", "theirs", "unit", "ratio", "least", "most", "target", "reached"],
    (runs[0] ?? []).map((first) => {
      const all = runs.flatMap((rows) => rows.filter(({ name }) => name === first.name))
      const ratios = all.flatMap(({ ratio }) => ratio ?? [])
      const theirs = all.flatMap((row) => row.theirs ?? [])
      return [
        first.name,
        figure(median(all.map(({ ours }) => ours))),
        theirs.length === 0 ? "not measured" : figure(median(theirs)),
        first.unit,
        ...(ratios.length === 0 ? ["-", "-", "-"] : [median(ratios), Math.min(...ratios), Math.max(...ratios)].map(times)),
        targetOf(first),
        first.target === undefined ? "-" : `${all.filter(({ reached }) => reached === true).length} of ${all.length}`
      ]
    })
  )

const times = (ratio: number): string => `${figure(ratio)} x`

const targetOf = ({ atMost, target }: Row): string => (target === undefined ? "-" : `${atMost ? "<=" : ">="} ${target} x`)

export const columns = (head: ReadonlyArray<string>, lines: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = head.map((title, column) => Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)))
  const written = (cells: ReadonlyArray<string>) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd()
  return [written(head), written(widths.map((width) => "-".repeat(width))), ...lines.map(written)].join("\n")
}

export const figure = (value: number): string => {
  if (Number.isNaN(value)) return "-"
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3)
}

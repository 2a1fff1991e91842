import { globSync } from "node:fs"
import { explained } from "./Explained.ts"
import { type Part, parts } from "./Parts.ts"

/** Of the report that Stryker writes, what is read here. */
export interface StrykerReport {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: ReadonlyArray<Mutant> }>>
}

interface Mutant {
  readonly mutatorName: string
  readonly replacement?: string
  readonly status: "Killed" | "Survived" | "NoCoverage" | "Timeout" | "CompileError" | "RuntimeError" | "Ignored" | "Pending"
  readonly location: { readonly start: Position; readonly end: Position }
}

interface Position {
  readonly line: number
  readonly column: number
}

/** A mistake that no test noticed. */
export interface Survivor {
  readonly file: string
  readonly line: number
  readonly original: string
  readonly replacement: string
  /** Why it need not be noticed; undefined where nobody has said. */
  readonly why: string | undefined
}

/** Of one file. */
export interface FileScore {
  readonly mutants: number
  readonly found: number
  readonly explained: number
  readonly open: number
  /** Found, of a hundred; what is explained counts as not found. */
  readonly score: number
}

const counted = new Set<Mutant["status"]>(["Killed", "Survived", "NoCoverage", "Timeout"])
const unnoticed = new Set<Mutant["status"]>(["Survived", "NoCoverage"])

/** The text from one position up to another; Stryker counts lines and columns from one. */
const between = (source: string, { end, start }: Mutant["location"]): string => {
  const lines = source.split("\n").slice(start.line - 1, end.line)
  const last = lines.length - 1
  return lines.map((line, at) => line.slice(at === 0 ? start.column - 1 : 0, at === last ? end.column - 1 : undefined)).join("\n")
}

export const survivorsOf = ({ files }: StrykerReport): ReadonlyArray<Survivor> =>
  Object.entries(files).flatMap(([file, { mutants, source }]) =>
    mutants
      .filter(({ status }) => unnoticed.has(status))
      .map(({ location, replacement = "" }) => {
        const original = between(source, location)
        const line = location.start.line
        const said = (explained[file] ?? []).find(
          (one) =>
            one.original === original &&
            one.replacement === replacement &&
            (one.line === undefined || one.line === lineOf(source, line))
        )
        return { file, line, original, replacement, why: said?.why }
      })
  )

const lineOf = (source: string, line: number): string => (source.split("\n")[line - 1] ?? "").trim()

export const scoresOf = (report: StrykerReport): Readonly<Record<string, FileScore>> => {
  const survivors = survivorsOf(report)
  return Object.fromEntries(
    Object.entries(report.files).map(([file, { mutants }]) => {
      const all = mutants.filter(({ status }) => counted.has(status)).length
      const here = survivors.filter((one) => one.file === file)
      const said = here.filter(({ why }) => why !== undefined).length
      return [file, score({ mutants: all, found: all - here.length, explained: said, open: here.length - said })]
    })
  )
}

const score = (counts: Omit<FileScore, "score">): FileScore => ({
  ...counts,
  score: percentage(counts.found, counts.mutants)
})

/** Whether each mistake was found or is explained, and as many were found as the goal asks for, of a hundred. */
export const isEnough = ({ open, score }: FileScore, goal: number): boolean => open === 0 && score >= goal

/** To a tenth, and never up: 94.99 has not reached 95. */
export const percentage = (part: number, whole: number): number => (whole === 0 ? 100 : Math.floor((1000 * part) / whole) / 10)

export const sumOf = (scores: ReadonlyArray<FileScore>): FileScore =>
  score(
    scores.reduce(
      (sum, one) => ({
        mutants: sum.mutants + one.mutants,
        found: sum.found + one.found,
        explained: sum.explained + one.explained,
        open: sum.open + one.open
      }),
      { mutants: 0, found: 0, explained: 0, open: 0 }
    )
  )

/** The newest figure of each file, as docs/reliability/mutation.json keeps it. */
export type Kept = Readonly<Record<string, FileScore>>

/** The files of a part. */
const filesOf = ({ files }: Part): ReadonlyArray<string> =>
  globSync(
    files.filter((pattern) => !pattern.startsWith("!")),
    { exclude: files.flatMap((pattern) => (pattern.startsWith("!") ? [pattern.slice(1)] : [])) }
  )

const number = (value: number): string => value.toLocaleString("en-US")

/** The rows of the table in docs/reliability/mistakes.md: a part each, and all of them. */
export const tableOf = (kept: Kept): ReadonlyArray<string> => {
  const row = (name: string, files: ReadonlyArray<string>, goal: string) => {
    const scores = files.flatMap((file) => kept[file] ?? [])
    const { explained: said, found, mutants, open, score } = sumOf(scores)
    const figures = [mutants, found, said, open].map(number).join(" | ")
    return `| ${name} | ${scores.length} of ${files.length} | ${figures} |${mutants === 0 ? "" : ` ${score} %`} |${goal} |`
  }
  const all = Object.entries(parts).map(([name, part]) => ({ name, files: filesOf(part), goal: ` ${part.atLeast} %` }))
  return [
    ...all.map(({ files, goal, name }) => row(`\`${name}\``, files, goal)),
    row(
      "all",
      all.flatMap(({ files }) => files),
      ""
    )
  ]
}

import { Effect, Option, Schedule, Stream } from "effect"
import { type CsvValue, csvLine, csvText } from "../domain/CsvText.ts"
import type { CsvFile } from "./Route.ts"

/** The most rows of a file. For more, the list has to be narrowed down, and the last line of the file says so. */
const ROWS_WRITTEN = 10_000
const ROWS_A_READ = 500
/** The most reads. Each may find nothing and still return where the next one begins. */
const READS_AT_MOST = 60
/** A read may be refused while other people read. The file continues after a pause, up to this many times. */
const PAUSES = { times: 30, schedule: Schedule.spaced("1 second") }

export interface ListFile<A, P, E> {
  readonly name: string
  readonly columns: ReadonlyArray<readonly [string, (row: A) => CsvValue]>
  readonly read: (page: { readonly limit: number; readonly after: P | null }) => Effect.Effect<ListRows<A, P>, E>
  /** Where the file begins; by default with the first row. */
  readonly from?: P | null
  /** The address of a file that continues after a place, for a list that supports it. */
  readonly restAt?: (after: P) => string
}

interface ListRows<A, P> {
  readonly rows: ReadonlyArray<A>
  readonly next: P | null
  /** There are more rows, which no page contains. */
  readonly isCut?: boolean
}

/** A list as CSV, read page by page as it is downloaded. Its rows are masked as on the page. */
export const listFile = <A, P, E>({ columns, from = null, name, read, restAt }: ListFile<A, P, E>): CsvFile => {
  const lineOf = (row: A) => csvLine(columns.map(([, value]) => value(row)))
  interface Walk {
    readonly after: P | null
    readonly written: number
    readonly reads: number
  }
  const step = ({ after, reads, written }: Walk) =>
    read({ limit: Math.min(ROWS_A_READ, ROWS_WRITTEN - written), after }).pipe(
      Effect.retry(PAUSES),
      Effect.map(({ isCut: hasNoMore = false, next, rows }) => {
        const walk = { after: next, written: written + rows.length, reads: reads + 1 }
        const isCut = hasNoMore || (next !== null && (walk.written >= ROWS_WRITTEN || walk.reads >= READS_AT_MOST))
        const rest = next === null || restAt === undefined ? "Narrow the list down" : `The rest is at ${restAt(next)}`
        const lines = [...rows.map(lineOf), ...(isCut ? [cutLine(columns.length, rest)] : [])]
        return [[csvText(lines)], next === null || isCut ? Option.none<Walk>() : Option.some<Walk>(walk)] as const
      })
    )
  const heading = csvText([csvLine(columns.map(([column]) => column))])
  return {
    _tag: "CsvFile",
    name: `${name}.csv`,
    text: Stream.concat(
      Stream.make(heading),
      Stream.paginate<Walk, string, E, never>({ after: from, written: 0, reads: 0 }, step)
    )
  }
}

/** A file that ends early must not look complete. */
const cutLine = (columns: number, rest: string): string =>
  csvLine([`cut here: there is more than is written here. ${rest}`, ...Array<null>(columns - 1).fill(null)])

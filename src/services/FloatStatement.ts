import { Effect, Option, Schedule, Stream } from "effect"
import { type CsvValue, csvLine } from "../domain/CsvText.ts"
import type { RateLimited } from "../domain/errors/Retriable.ts"
import type { ValidationFailed } from "../domain/errors/Terminal.ts"
import { iso } from "../domain/Instant.ts"
import { RawJson } from "../domain/Json.ts"
import type { StatementEntry, StatementPage, StatementPosition } from "./ports/FloatEntries.ts"

/** How many entries are in memory at once. */
const ENTRIES_A_READ = 5_000
/** A page read may be shed while the tenant's other reads run; the file continues after a pause, at most this often. */
const PAUSES = 60
const PAUSE = Schedule.spaced("1 second")

const COLUMNS = [
  "id",
  "at",
  "type",
  "reference",
  "external_id",
  "available_change_minor",
  "reserved_change_minor",
  "fee_minor",
  "available_after_minor",
  "reserved_after_minor",
  "metadata"
] as const

/** An entry as its tenant sees it (contract FLOAT-10), without an operator's note. */
export const entryView = ({ after, at, change, externalId, fee, metadata, reference, revision, type }: StatementEntry) => ({
  id: `${reference}-${revision}`,
  at: iso(at),
  type,
  reference,
  external_id: externalId,
  available_change_minor: change.available,
  reserved_change_minor: change.reserved,
  fee_minor: fee,
  available_after_minor: after.available,
  reserved_after_minor: after.reserved,
  metadata: metadata === null ? null : new RawJson(metadata)
})

type ReadPage<E> = (page: {
  readonly limit: number
  readonly after: StatementPosition | null
}) => Effect.Effect<StatementPage, E | RateLimited | ValidationFailed>

/**
 * A statement as lines of CSV (RFC 4180) without line ends, beginning with the member names. Pages are read as the lines are
 * consumed. The first page is read at once, so that a refusal comes before the first line.
 */
export const statementLines = Effect.fnUntraced(function* <E>(read: ReadPage<E>) {
  const first = yield* read({ limit: ENTRIES_A_READ, after: null })
  const next = (after: StatementPosition) =>
    read({ limit: ENTRIES_A_READ, after }).pipe(
      Effect.retry({ while: isShed, times: PAUSES, schedule: PAUSE }),
      Effect.map((page) => [[linesOf(page)], Option.fromNullOr(page.next)] as const)
    )
  const rest = first.next === null ? Stream.empty : Stream.paginate(first.next, next)
  return Stream.concat(Stream.make([COLUMNS.join(","), ...linesOf(first)]), rest)
})

const isShed = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "rate_limited"

const linesOf = ({ items }: StatementPage): ReadonlyArray<string> =>
  items.map((item) => {
    const view = entryView(item)
    return csvLine(COLUMNS.map((column) => textOf(view[column])))
  })

const textOf = (value: CsvValue | RawJson): CsvValue => (value instanceof RawJson ? value.text : value)

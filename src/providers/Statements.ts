import { DateTime, Effect, Option, Result, type Schema } from "effect"
import { isCurrency } from "../domain/Currency.ts"
import type { ProviderError } from "../domain/errors/Retriable.ts"
import { isReference } from "../domain/Ids.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import { maskedText } from "../domain/Masking.ts"
import type { Statement, StatementLine, UnreadableRow } from "../domain/ReconciliationDifference.ts"
import type { Provider, StatementUnreadable } from "../services/ports/Provider.ts"
import type { Connection } from "./Connection.ts"
import type { sumOf } from "./ProviderStatus.ts"
import { nameIn, readRow, tellUnread, wordIn } from "./Rows.ts"

/** A day with more pages is not read at all: an incomplete statement would show differences that do not exist. */
const MAXIMUM_PAGES = 10_000
const DAY_MS = 86_400_000
/** A list that still changes with each reading is used as it is, and reported as unsteady. */
const READINGS_AT_MOST = 4

/** The requested UTC day (2026-01-31) and its neighbours, because a provider's days may be in another time zone. */
export interface Days {
  readonly day: string
  readonly before: string
  readonly after: string
}

/** The names of a row's members; of several the first one present is used, also when nothing else can be parsed. */
interface Members {
  /** The provider's own reference, which identifies a row. */
  readonly id: string
  readonly reference: string
  readonly currency: ReadonlyArray<string>
  readonly status: string | ReadonlyArray<string>
  readonly sum: ReadonlyArray<string>
  readonly beganAt: ReadonlyArray<string>
}

/** A provider's list that is read in pages. */
export interface PagedRows<A, Row> {
  readonly operation: string
  /** The schema of the page; its rows are parsed one by one. */
  readonly schema: Schema.ConstraintDecoder<A>
  readonly rows: (answer: A) => ReadonlyArray<unknown>
  readonly isLast: (answer: A, page: number) => boolean
  readonly row: Schema.ConstraintDecoder<Row>
}

interface PagedList<A, Row> extends PagedRows<A, Row> {
  /** `before`: the previous page's response, for a list that continues from a cursor in it. */
  readonly path: (days: Days, page: number, before?: A) => string
  readonly members: Members
  readonly lineOf: (row: Row) => ParsedRow
}

/** `foreign`: no movement of ours, or of a currency unknown to the gateway. A string names the part that cannot be parsed. */
type ParsedRow = StatementLine | "foreign" | "status" | "sum" | "beganAt"

/** The rows by their key. */
type Rows = Map<string, StatementLine | UnreadableRow>

export type ListReader = (connection: Connection, days: Days) => Effect.Effect<Statement, ProviderError | StatementUnreadable>

/**
 * Reads one list to its end. A row that cannot be parsed is reported, and the others are used. Rows may shift between two
 * pages, so that a row appears twice or not at all. A list with several pages is therefore read until two readings have the
 * same rows. A repeated row counts once, in its last version.
 */
export const pagedList = <A, Row>({ isLast, operation, path, rows, schema, ...list }: PagedList<A, Row>): ListReader => {
  const read = rowReader(list)
  const reading = Effect.fnUntraced(function* ({ get, giveUp, title }: Connection, days: Days) {
    const found: Rows = new Map()
    let before: A | undefined
    for (let page = 1; page <= MAXIMUM_PAGES; page++) {
      const answer: A = yield* get(schema, operation, path(days, page, before))
      keep(found, rows(answer), (raw, index) => read(raw, `${operation}, page ${page}, row ${index + 1}`))
      if (isLast(answer, page)) return { found, pages: page }
      before = answer
    }
    return yield* giveUp(`a day's statement of ${title}'s does not end`)
  })
  return Effect.fnUntraced(function* (connection, days) {
    const first = yield* reading(connection, days)
    const all: Rows = new Map(first.found)
    if (first.pages === 1) return statementWith(all, [])
    let { found } = first
    const newest = [...found.values()].reduce((latest, { at }) => Math.max(latest, at ?? 0), 0)
    let unsteady: ReadonlyArray<string> = []
    for (let readings = 1; readings < READINGS_AT_MOST; readings++) {
      const next = yield* reading(connection, days)
      for (const [key, row] of next.found) all.set(key, row)
      // A movement that began after the first reading is new, not shifted.
      unsteady = [...new Set([...found.keys(), ...next.found.keys()])].filter(
        (key) => found.has(key) !== next.found.has(key) && (all.get(key)?.at ?? newest) <= newest
      )
      if (unsteady.length === 0) return statementWith(all, [])
      found = next.found
    }
    return statementWith(all, unsteady)
  })
}

/** A list that is limited by start and end, and does not say how to continue after a full response. */
interface WindowedList<A, Row> extends Omit<PagedList<A, Row>, "path" | "isLast"> {
  /** In milliseconds, both inclusive. */
  readonly path: (from: Instant, until: Instant) => string
  /** Whether the response may be incomplete. */
  readonly isFull: (answer: A) => boolean
}

/** Reads a day of such a list: a full window is split in halves, which are read again. A row on the edge of both counts once. */
export const windowedList = <A, Row>({ isFull, operation, path, rows, schema, ...list }: WindowedList<A, Row>): ListReader => {
  const read = rowReader(list)
  const reading = Effect.fnUntraced(function* ({ get, giveUp, title }: Connection, from: Instant, until: Instant, found: Rows) {
    const windows = [{ from, until }]
    for (let window = windows.pop(), asked = 1; window !== undefined; window = windows.pop(), asked++) {
      const answer: A = yield* get(schema, operation, path(window.from, window.until))
      if (isFull(answer)) {
        const middle = Math.floor((window.from + window.until) / 2)
        if (middle <= window.from || asked > MAXIMUM_PAGES) return yield* giveUp(`a day's statement of ${title}'s does not end`)
        windows.push({ from: middle, until: window.until }, { from: window.from, until: middle })
        continue
      }
      const { from } = window
      keep(found, rows(answer), (raw, index) => read(raw, `${operation} from ${iso(from)}, row ${index + 1}`))
    }
  })
  return Effect.fnUntraced(function* (connection, { day }) {
    const start = DateTime.toEpochMillis(DateTime.makeUnsafe(`${day}T00:00:00Z`))
    const found: Rows = new Map()
    yield* reading(connection, start, start + DAY_MS - 1, found)
    return statementWith(found, [])
  })
}

/** Adds the rows that are movements; a repeated row replaces its earlier version. */
const keep = (
  found: Rows,
  raws: ReadonlyArray<unknown>,
  read: (raw: unknown, index: number) => ReturnType<ReturnType<typeof rowReader>>
): void => {
  for (const [index, raw] of raws.entries()) {
    const row = read(raw, index)
    if (row !== "foreign") found.set(keyOf(row, raw), row)
  }
}

const statementWith = (all: Rows, unsteady: ReadonlyArray<string>): Statement => {
  const rows = [...all.values()]
  const isUnsteady = new Set(unsteady.map((key) => all.get(key)))
  const lines = rows.filter(isLine)
  return { lines, unreadable: rows.filter((row) => !isLine(row)), unsteady: lines.filter((line) => isUnsteady.has(line)) }
}

const isLine = (row: StatementLine | UnreadableRow): row is StatementLine => "status" in row

/** A row without the provider's reference is identified by its whole content. */
const keyOf = ({ direction, providerReference }: StatementLine | UnreadableRow, raw: unknown): string =>
  providerReference === null ? JSON.stringify(raw) : `${direction ?? ""} ${providerReference}`

const rowReader = <Row>({ lineOf, members, row }: Pick<PagedList<never, Row>, "lineOf" | "members" | "row">) => {
  const read = readRow(row)
  const named = {
    status: [members.status].flat(),
    sum: [...members.sum, ...members.currency],
    beganAt: members.beganAt
  }
  return (raw: unknown, place: string): StatementLine | UnreadableRow | "foreign" => {
    const currency = nameIn(raw, ...members.currency)
    if (currency !== null && !isCurrency(currency)) return "foreign"
    const result = read(raw)
    const line = Result.isSuccess(result) ? lineOf(result.success) : null
    if (line !== null && typeof line === "object") return line
    if (line === "foreign") return "foreign"
    return {
      direction: null,
      place,
      providerReference: nameIn(raw, members.id),
      reference: shownReference(nameIn(raw, members.reference)),
      at: instantIn(nameIn(raw, ...members.beganAt)),
      word: Result.isFailure(result) ? result.failure.word : wordIn(raw, line === null ? [] : presentIn(raw, named[line]))
    }
  }
}

/** Our reference in upper case; any other text is masked, because it may be a person's number. */
const shownReference = (text: string | null): string | null => {
  const own = (text ?? "").toUpperCase()
  if (text === null) return null
  return isReference(own) ? own : maskedText(text)
}

/** The members that are present; the first one when none is. */
const presentIn = (raw: unknown, members: ReadonlyArray<string>): ReadonlyArray<string> => {
  const present = members.filter((member) => typeof raw === "object" && raw !== null && member in raw)
  return present.length === 0 ? members.slice(0, 1) : present
}

/** Everything that began on a UTC day, from all lists. A row that cannot be parsed is included unless it shows another day. */
export const statementOf = (connection: Connection, ...lists: ReadonlyArray<ListReader>): NonNullable<Provider["statement"]> =>
  Effect.fn(`${connection.name}.statement`)(function* (day) {
    const start = DateTime.toEpochMillis(DateTime.makeUnsafe(`${day}T00:00:00Z`))
    const days: Days = { day, before: dayOf(start - DAY_MS), after: dayOf(start + DAY_MS) }
    const read = together(yield* Effect.forEach(lists, (list) => list(connection, days)))
    const ofDay = ({ at }: { readonly at: Instant | null }) => at === null || (at >= start && at < start + DAY_MS)
    const unreadable = read.unreadable.filter(ofDay)
    yield* tellUnread(
      connection.name,
      "statement",
      unreadable.map(({ place, word }) => `${place}: ${word}`)
    )
    return { ...read, lines: read.lines.filter(ofDay), unreadable, unsteady: read.unsteady.filter(ofDay) }
  })

/** Merges several statements. */
export const together = (all: ReadonlyArray<Statement>): Statement => ({
  lines: all.flatMap(({ lines }) => lines),
  unreadable: all.flatMap(({ unreadable }) => unreadable),
  unsteady: all.flatMap(({ unsteady }) => unsteady),
  ...(all.some(({ isPart }) => isPart) && { isPart: true as const })
})

const dayOf = (at: Instant): string => iso(at).slice(0, "2026-01-31".length)

interface ListedRow extends Pick<StatementLine, "direction" | "providerReference"> {
  readonly reference: string | null | undefined
  readonly currency: string | null | undefined
  /** Undefined when the provider's word has no meaning here. */
  readonly standing: StatementLine["status"] | undefined
  readonly sum: ReturnType<typeof sumOf>
  readonly beganAt: string | null | undefined
}

export const lineOf = ({ beganAt, currency, direction, providerReference, reference, standing, sum }: ListedRow): ParsedRow => {
  if (!isCurrency(currency)) return "foreign"
  if (standing === undefined) return "status"
  if (sum === undefined) return "sum"
  const at = instantIn(beganAt)
  return at === null ? "beganAt" : { direction, providerReference, reference: reference ?? null, ...sum, status: standing, at }
}

/** Parses a time in any form that a provider writes; null when there is none. */
export const instantIn = (text: string | null | undefined): Instant | null =>
  Option.getOrNull(Option.map(DateTime.make(text ?? ""), DateTime.toEpochMillis))

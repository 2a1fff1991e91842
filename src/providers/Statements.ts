import { DateTime, Effect, Option, type Schema } from "effect"
import { isCurrency } from "../domain/Currency.ts"
import type { ProviderError } from "../domain/errors/Retriable.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import type { StatementLine } from "../domain/ReconciliationDifference.ts"
import type { Provider } from "../services/ports/Provider.ts"
import type { Connection } from "./Connection.ts"
import type { Standing, sumOf } from "./ProviderStatus.ts"

/** A day of more pages than these is not read at all: half a statement would name differences that are none. */
const MAXIMUM_PAGES = 10_000
const DAY_MS = 86_400_000

/** The UTC day that is asked for, written 2026-01-31, and its neighbours: a provider's days may have another time zone. */
export interface Days {
  readonly day: string
  readonly before: string
  readonly after: string
}

/** One of the lists that a provider has, page by page. */
interface PagedList<A, Row> {
  readonly operation: string
  readonly path: (days: Days, page: number) => string
  readonly schema: Schema.ConstraintDecoder<A>
  readonly rows: (answer: A) => ReadonlyArray<Row>
  readonly isLast: (answer: A, page: number) => boolean
  readonly lineOf: (row: Row) => Line
}

/** `foreign`: no movement of ours, or in a currency that the gateway does not know. */
type Line = StatementLine | "foreign" | "unreadable"

type ListReader = (connection: Connection, days: Days) => Effect.Effect<ReadonlyArray<StatementLine>, ProviderError>

/** Reads one list to its end. A page or a line that cannot be read makes it none. */
export const pagedList = <A, Row>({ isLast, lineOf, operation, path, rows, schema }: PagedList<A, Row>): ListReader =>
  Effect.fnUntraced(function* ({ get, giveUp, title }, days) {
    // A list that grows while it is read shows the last rows of a page once more on the next: one movement, as it was shown last.
    const lines = new Map<string, StatementLine>()
    for (let page = 1; page <= MAXIMUM_PAGES; page++) {
      const answer: A = yield* get(schema, operation, path(days, page))
      for (const line of rows(answer).map(lineOf)) {
        if (line === "unreadable") return yield* giveUp(`a line of ${title}'s statement cannot be read`)
        if (line !== "foreign") lines.set(`${line.direction} ${line.providerReference}`, line)
      }
      if (isLast(answer, page)) return [...lines.values()]
    }
    return yield* giveUp(`a day's statement of ${title}'s does not end`)
  })

/** All that began on a UTC day, in all lists. */
export const statementOf = (connection: Connection, ...lists: ReadonlyArray<ListReader>): NonNullable<Provider["statement"]> =>
  Effect.fn(`${connection.name}.statement`)(function* (day) {
    const start = DateTime.toEpochMillis(DateTime.makeUnsafe(`${day}T00:00:00Z`))
    const days: Days = { day, before: dayOf(start - DAY_MS), after: dayOf(start + DAY_MS) }
    const lines = (yield* Effect.forEach(lists, (list) => list(connection, days))).flat()
    return lines.filter(({ at }) => at >= start && at < start + DAY_MS)
  })

const dayOf = (at: Instant): string => iso(at).slice(0, "2026-01-31".length)

interface ListedRow extends Pick<StatementLine, "direction" | "providerReference"> {
  readonly reference: string | null | undefined
  readonly currency: string | null | undefined
  /** Undefined where the provider's word has no meaning here. */
  readonly standing: Standing | undefined
  readonly sum: ReturnType<typeof sumOf>
  readonly beganAt: string | null | undefined
}

export const lineOf = ({ beganAt, currency, direction, providerReference, reference, standing, sum }: ListedRow): Line => {
  if (!isCurrency(currency)) return "foreign"
  const at = instantIn(beganAt)
  return standing === undefined || sum === undefined || at === null
    ? "unreadable"
    : { direction, providerReference, reference: reference ?? null, ...sum, status: standing, at }
}

/** A moment in any form that a provider writes; null where there is none. */
export const instantIn = (text: string | null | undefined): Instant | null =>
  Option.getOrNull(Option.map(DateTime.make(text ?? ""), DateTime.toEpochMillis))

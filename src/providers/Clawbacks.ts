import { Effect, Option } from "effect"
import { type Clawback, clawback } from "../domain/Clawback.ts"
import { type Currency, isCurrency } from "../domain/Currency.ts"
import type { ProviderError } from "../domain/errors/Retriable.ts"
import type { ClawbackQuery, ListClawbacks, ListedClawback } from "../services/ports/ProviderClawbacks.ts"
import type { Connection } from "./Connection.ts"
import { type AmountFormat, majorUnits, meaningBy, sumOf } from "./ProviderStatus.ts"
import { readableRows } from "./Rows.ts"
import { instantIn, type PagedRows } from "./Statements.ts"

/** Disputes and refunds are few; a longer list must be something else. */
const MAXIMUM_PAGES = 200

/** One of the provider's lists of disputes or refunds. */
interface ClawbackList<A, Row> extends PagedRows<A, Row> {
  readonly path: (query: ClawbackQuery, page: number) => string
  readonly clawbackOf: (row: Row) => ListedClawback
}

type Reader = (connection: Connection, query: ClawbackQuery) => Effect.Effect<ReadonlyArray<ListedClawback>, ProviderError>

/** Reads one list to its end. A row that cannot be parsed raises an alarm and is left out. */
export const clawbackList =
  <A, Row>({ clawbackOf, isLast, operation, path, row, rows, schema }: ClawbackList<A, Row>): Reader =>
  (connection, query) =>
    Effect.gen(function* () {
      const found: Array<ListedClawback> = []
      for (let page = 1; page <= MAXIMUM_PAGES; page++) {
        const answer: A = yield* connection.get(schema, operation, path(query, page))
        found.push(...(yield* readableRows(connection.name, operation, row, rows(answer))).map(clawbackOf))
        if (isLast(answer, page)) return found
      }
      return yield* connection.giveUp(`a list of ${connection.title}'s does not end: ${operation}`)
    })

/** Reads all lists. When one cannot be read, the others are still returned. */
export const clawbacksOf = (connection: Connection, ...lists: ReadonlyArray<Reader>): ListClawbacks =>
  Effect.fn(`${connection.name}.clawbacks`)(function* (query) {
    const read = yield* Effect.forEach(lists, (list) => Effect.option(list(connection, query)))
    return { listed: read.flatMap(Option.getOrElse((): ReadonlyArray<ListedClawback> => [])), isWhole: read.every(Option.isSome) }
  })

type Written = string | null | undefined

interface WrittenClawback extends Pick<Clawback, "by" | "id"> {
  /** Undefined when the provider's word is unknown. */
  readonly state: Clawback["state"] | undefined
  readonly status: string
  readonly amount: Written
  readonly currency: Written
  readonly reason?: Written
  readonly answerBy?: Written
}

/** A provider's words for the states of a clawback. */
export const clawbackStates = (words: Parameters<typeof meaningBy<Clawback["state"]>>[1]) =>
  meaningBy<Clawback["state"]>(["open", "taken", "kept"], words)

const LONGEST_REASON = 80

/** The clawback as a fact about a charge in this currency. */
export const clawbackIn =
  (
    { amount, answerBy, currency: named, reason, status, state = "unknown", ...rest }: WrittenClawback,
    format: AmountFormat = majorUnits
  ) =>
  (stored: Currency): Clawback => {
    const currency = isCurrency(named) ? named : stored
    const said = [reason ?? "", `status ${status}`].filter((word) => word !== "")
    // The reason is truncated. For an unknown state the provider's word comes first, so that it is kept.
    const words = (state === "unknown" ? said.toReversed() : said).join(", ")
    const sum = Option.getOrNull(Option.fromUndefinedOr(sumOf({ amount, currency }, format)))
    const isForeign = named !== null && named !== undefined && !isCurrency(named)
    return clawback({
      ...rest,
      state,
      amount: isForeign ? null : (sum?.amount ?? null),
      currency,
      reason: Array.from(words).slice(0, LONGEST_REASON).join(""),
      answerBy: instantIn(answerBy)
    })
  }

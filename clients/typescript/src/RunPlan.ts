import { verbatim } from "./Json.ts"
import type { Operations, PayoutQuotesTotal, Error as WireError } from "./Schema.ts"

type Body = Operations["POST /v1/payouts/quotes"]["body"]
type Quotes = Operations["POST /v1/payouts/quotes"]["data"]

/** A row and the JSON text of its body. */
export interface PlannedRow {
  readonly row: number
  readonly text: string
}

/** What the rows that are not sent yet would cost, and what speaks against sending them. */
export interface RunPlan {
  readonly rows: number
  /** Rows that would be refused. None is sent while there is one. */
  readonly issues: ReadonlyArray<{ readonly row: number; readonly error: WireError }>
  /** Rows to a recipient that an earlier row pays. They refuse nothing. */
  readonly duplicates: ReadonlyArray<{ readonly row: number; readonly of: number; readonly same_amount: boolean }>
  /** By currency. None is sent while one has a shortfall. */
  readonly totals: ReadonlyArray<PayoutQuotesTotal>
}

/** As one request takes them, with room for the list around them. */
const MOST_ITEMS = 100
const MOST_CHARACTERS = 20_000
/** A provider that does not answer at once is asked again. */
const TIMES = 3

export const planOf = async (rows: ReadonlyArray<PlannedRow>, quotes: (body: Body) => Promise<Quotes>): Promise<RunPlan> => {
  const issues: Array<RunPlan["issues"][number]> = []
  const recipients = new Recipients()
  const totals = new Map<string, PayoutQuotesTotal>()
  let open = rows
  for (let time = 1; open.length > 0; time++) {
    const again: Array<PlannedRow> = []
    for (const part of partsOf(open)) {
      const answer = await quotes(verbatim<Body>(`{"items":[${part.map(({ text }) => text).join()}]}`))
      for (const total of answer.totals) totals.set(total.currency, added(totals.get(total.currency), total))
      recipients.add(part, answer.items)
      for (const [at, { error }] of answer.items.entries()) {
        const row = part[at]
        if (row === undefined) continue
        if (error?.retriable === true && time < TIMES) again.push(row)
        else if (error !== null) issues.push({ row: row.row, error })
      }
    }
    open = again
  }
  return {
    rows: rows.length,
    issues: issues.sort((a, b) => a.row - b.row),
    duplicates: recipients.duplicates,
    totals: [...totals.values()]
  }
}

function* partsOf(rows: ReadonlyArray<PlannedRow>): Generator<ReadonlyArray<PlannedRow>, void> {
  let part: Array<PlannedRow> = []
  let characters = 0
  for (const row of rows) {
    if (part.length > 0 && (part.length === MOST_ITEMS || characters + row.text.length > MOST_CHARACTERS)) {
      yield part
      part = []
      characters = 0
    }
    part.push(row)
    characters += row.text.length
  }
  if (part.length > 0) yield part
}

/** Each part has the same float. */
const added = (before: PayoutQuotesTotal | undefined, total: PayoutQuotesTotal): PayoutQuotesTotal => {
  if (before === undefined) return total
  const total_amount_minor = before.total_amount_minor + total.total_amount_minor
  const lacking = total_amount_minor - total.available_minor
  return {
    ...total,
    items: before.items + total.items,
    principal_minor: before.principal_minor + total.principal_minor,
    fees_minor: before.fees_minor + total.fees_minor,
    total_amount_minor,
    shortfall_minor: lacking > 0n ? lacking : 0n
  }
}

/** What the gateway says of whom each row pays, and how much. */
class Recipients {
  readonly #first = new Map<string, number>()
  readonly #found = new Map<number, RunPlan["duplicates"][number]>()

  /** Rows of one request; `items` are their answers, in their order. */
  add(rows: ReadonlyArray<PlannedRow>, items: Quotes["items"]): void {
    for (const [at, { duplicate_of: duplicate, quote, recipient }] of items.entries()) {
      const row = rows[at]?.row
      if (row === undefined || this.#found.has(row)) continue
      const payment =
        quote === null || (recipient ?? null) === null ? null : `${recipient} ${quote.amount_minor} ${quote.amount_currency}`
      const [same, other] = [this.#firstOf(payment, row), this.#firstOf(recipient, row)]
      const of = same ?? other
      if (of !== undefined) this.#found.set(row, { row, of, same_amount: same !== undefined })
      // A gateway of an earlier release names duplicates of one request alone.
      else if (recipient === undefined && duplicate !== null)
        this.#found.set(row, { row, of: rows[duplicate.item]?.row ?? row, same_amount: duplicate.same_amount })
    }
  }

  get duplicates(): RunPlan["duplicates"] {
    return [...this.#found.values()].sort((a, b) => a.row - b.row)
  }

  /** The first other row with it. */
  #firstOf(text: string | null | undefined, row: number): number | undefined {
    if (text === null || text === undefined) return undefined
    const first = this.#first.get(text)
    if (first === undefined) this.#first.set(text, row)
    return first === row ? undefined : first
  }
}

import { Option, Result, Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { Currency } from "../../domain/Currency.ts"
import { described, optional } from "../../domain/Description.ts"
import { ValidationFailed } from "../../domain/errors/Terminal.ts"
import { Reference } from "../../domain/Ids.ts"
import { isoOrNull } from "../../domain/Instant.ts"
import { StatementType } from "../../domain/Statement.ts"
import { entryView } from "../../services/FloatStatement.ts"
import type { FloatBalance, StatementPage, StatementPosition, StatementRange } from "../../services/ports/FloatEntries.ts"
import { NEEDS_NOTHING, NEXT_PAGE, operation } from "./Operation.ts"
import { CURSOR_RULE, DEFAULT_PAGE, encoded, MomentText, momentOf, pageQuery, textOf } from "./Page.ts"
import { Enveloped, Metadata, Timestamp } from "./Wire.ts"

/** A signed amount. */
const Change = Schema.Number.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })
).annotate({ format: "int64" })

/** The query of `GET /v1/float/entries` (contract FLOAT-10). */
const statementQuery = {
  currency: described(Currency, "The float of this currency"),
  from: optional(MomentText, "Only entries of this moment or later; without it the statement begins with your first entry"),
  to: optional(MomentText, "Only entries before this moment; without it the statement ends with your last entry"),
  type: optional(StatementType, "Only entries of this type"),
  reference: optional(Reference, "Only entries of this transaction"),
  ...pageQuery
}

const Balance = Schema.Struct({
  available_minor: described(Change, "What could be drawn on, less what was owed, in minor units of `currency`"),
  reserved_minor: described(Change, "What payouts and exchanges in flight held, in minor units of `currency`")
}).annotate({ identifier: "StatementBalance", description: "The float at one place of the statement" })

const Entry = Schema.Struct({
  id: described(Schema.String, "Names the entry among those of one currency, for ever"),
  at: described(Timestamp, "When it was booked"),
  type: described(
    StatementType,
    "`reserve` holds float for a payout or an exchange, `settle` takes it, `refund` takes it for a payout that refunds a collection, `release` gives it back; `collect` adds a collection, `return` a payout that came back; `reverse` takes a collection back; `exchange` is either side of one; `credit` and `debit` are an operator's; `correction` is a person's ruling"
  ),
  reference: described(Reference, "The transaction; of a credit or a debit its own reference"),
  external_id: described(Schema.NullOr(Schema.String), "The external id of a credit or a debit; else null"),
  available_change_minor: described(Change, "By how much it changed `available_minor`"),
  reserved_change_minor: described(Change, "By how much it changed `reserved_minor`"),
  fee_minor: described(
    Change,
    "The provider's fee that it booked, which is in the changes already; below 0 where it gave one back"
  ),
  available_after_minor: described(Change, "`available_minor` after it"),
  reserved_after_minor: described(Change, "`reserved_minor` after it"),
  metadata: described(Schema.NullOr(Metadata), "The transaction's metadata; null where it has none, as a credit or a debit")
}).annotate({ identifier: "StatementEntry", description: "One entry of a float" })

const Statement = Schema.Struct({
  currency: described(Currency, "The float of this currency"),
  from: described(Schema.NullOr(Timestamp), "As you asked; null if you did not"),
  to: described(Schema.NullOr(Timestamp), "As you asked; null if you did not"),
  opening: described(Balance, "The float before the entries of this page"),
  closing: described(Balance, "The float after them, which is the opening of the next page"),
  items: described(Schema.Array(Entry), "The entries of this page, the oldest first"),
  next_cursor: described(Schema.NullOr(Schema.String), "Send it as `cursor` for the next page; null on the last one")
}).annotate({ identifier: "Statement", description: "One page of the statement of a float" })

export const statementEndpoint = HttpApiEndpoint.get("statement", "/v1/float/entries", {
  query: statementQuery,
  success: Enveloped(Statement)
}).annotateMerge(
  operation(
    "Get a statement of your float",
    `Every entry of your float in one currency, in the key's mode, the oldest first. Opening and the items' changes are closing, on every page; with \`type\` or \`reference\` the items are fewer, and opening and closing stay those of the float. ${NEXT_PAGE} An entry may be committed a moment after a younger one: a cursor that would skip it is \`validation_failed\`, and you begin again without it. With \`Accept: text/csv\` the same rows come as one CSV file of the whole interval, without \`limit\` and \`cursor\`. ${NEEDS_NOTHING}`,
    { errors: ["validation_failed", "unknown_currency"], isAlsoCsv: true }
  )
)

type StatementQuery = { readonly [K in keyof typeof statementQuery]?: (typeof statementQuery)[K]["Type"] }
interface StatementRequest {
  readonly range: StatementRange
  readonly page: { readonly limit: number; readonly after: StatementPosition | null }
}

export const statementRequest = (query: StatementQuery): Result.Result<StatementRequest, ValidationFailed> => {
  const after = query.cursor === undefined ? null : placeOf(query)
  if (query.cursor !== undefined && after === null)
    return Result.fail(new ValidationFailed({ issues: [{ path: "cursor", message: CURSOR_RULE }] }))
  return Result.succeed({
    range: { from: momentOf(query.from), to: momentOf(query.to), type: query.type ?? null, reference: query.reference ?? null },
    page: { limit: query.limit ?? DEFAULT_PAGE, after }
  })
}

/** The end of the year 9999. */
const LATEST = 253_402_300_799_999

const Whole = Schema.Number.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: LATEST }))
/** The float's currency, the place of the last entry, the balance after it, and how many entries the minutes before it had. */
const Cursor = Schema.fromJsonString(Schema.Tuple([Currency, Whole, Reference, Whole, Change, Change, Whole]))
const decodeCursor = Schema.decodeUnknownOption(Cursor)

const cursorOf = (currency: Currency, { at, balance, recent, reference, revision }: StatementPosition): string =>
  encoded([currency, at, reference, Number(revision), Number(balance.available), Number(balance.reserved), recent])

/** Null for a cursor that this statement did not issue. */
const placeOf = ({ currency, cursor }: StatementQuery): StatementPosition | null => {
  const read = decodeCursor(textOf(cursor ?? ""))
  if (Option.isNone(read)) return null
  const [of, at, reference, revision, available, reserved, recent] = read.value
  const balance = { available: BigInt(available), reserved: BigInt(reserved) }
  return of === currency ? { at, reference, revision: BigInt(revision), balance, recent } : null
}

const balanceView = ({ available, reserved }: FloatBalance) => ({ available_minor: available, reserved_minor: reserved })

export const statementView = (
  currency: Currency,
  { from, to }: StatementRange,
  { closing, items, next, opening }: StatementPage
) => ({
  currency,
  from: isoOrNull(from),
  to: isoOrNull(to),
  opening: balanceView(opening),
  closing: balanceView(closing),
  items: items.map(entryView),
  next_cursor: next === null ? null : cursorOf(currency, next)
})

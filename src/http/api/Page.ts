import { Effect, Option, Schema, SchemaAST } from "effect"
import { described, optional } from "../../domain/Description.ts"
import { ValidationFailed } from "../../domain/errors/Terminal.ts"
import { Reference } from "../../domain/Ids.ts"
import { type Instant, instantOf } from "../../domain/Instant.ts"
import { Timestamp } from "./Wire.ts"

export const MAX_PAGE = 100
export const DEFAULT_PAGE = 50
const LONGEST_CURSOR = 256

/** Replaces a query parameter's schema in the API description, because every parameter is a string to the schema itself. */
export const PARAMETER = "x-parameter"

// Digits only, because a number has many other spellings.
const Limit = Schema.String.check(
  Schema.isPattern(/^(?:[1-9][0-9]?|100)$/, { expected: `a whole number from 1 to ${MAX_PAGE}` })
).pipe(Schema.decodeTo(Schema.NumberFromString))

export const Flag = Schema.Literals(["true", "false"]).annotate({ [PARAMETER]: { type: "boolean" } })

const momentIn = (text: string): Option.Option<Instant> => Option.filter(instantOf(text), (at) => at >= 0)

/** A timestamp parameter; `momentOf` decodes it. */
export const MomentText = Timestamp.check(
  Schema.makeFilter((text: string) => Option.isSome(momentIn(text)), {
    expected: "a moment in UTC such as 2026-01-31T12:00:00.000Z"
  })
)
/** Null when the parameter was not sent. */
export const momentOf = (text: string | undefined): Instant | null =>
  text === undefined ? null : Option.getOrNull(momentIn(text))

/** A list's `next_cursor`, sent back. */
export const Cursor = Schema.String.check(
  Schema.isPattern(new RegExp(`^[A-Za-z0-9_-]{1,${LONGEST_CURSOR}}$`), { expected: "a cursor that this list gave" })
)

/** The query of a list: `limit` is the page size, `cursor` where the last page ended. */
export const pageQueryOf = (items: number) => ({
  limit: Schema.optionalKey(
    Limit.pipe(
      Schema.annotateEncoded({
        description: "How many items a page has at most",
        [PARAMETER]: { type: "integer", minimum: 1, maximum: MAX_PAGE, default: items }
      })
    )
  ),
  cursor: optional(Cursor, "Where to go on: the `next_cursor` of the page before")
})
export const pageQuery = pageQueryOf(DEFAULT_PAGE)

/** The response of a list. `next_cursor` is null on the last page. */
export const pageOf = <Item extends Schema.Top>(item: Item) =>
  Schema.Struct({
    items: described(Schema.Array(item), "The items of this page"),
    next_cursor: described(Schema.NullOr(Schema.String), "Send it as `cursor` for the next page; null on the last one")
  }).annotate({ identifier: `${SchemaAST.resolveIdentifier(item.ast)}Page`, description: "One page of a list" })

/** The end of the year 9999. PostgreSQL cannot parse JavaScript's form of later times. */
const LATEST = 253_402_300_799_999
const Moment = Schema.Number.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: LATEST }))

/** A cursor holds the creation time and the reference of the last item. Its form is not part of the contract. */
const Place = Schema.fromJsonString(Schema.Tuple([Moment, Reference]))
/** A cursor of a list in another order also names that order, because it is invalid in any other. */
const OrderedPlace = Schema.fromJsonString(Schema.Tuple([Moment, Reference, Schema.String]))
const decodeCursor = Schema.decodeUnknownOption(Place)
const decodeOrdered = Schema.decodeUnknownOption(OrderedPlace)

export const cursorOf = ({ createdAt, id }: { readonly createdAt: number; readonly id: string }): string =>
  encoded([createdAt, id])
export const orderedCursorOf = ({ at, id }: { readonly at: number; readonly id: string }, order: string): string =>
  order === "created" ? encoded([at, id]) : encoded([at, id, order])

/** A cursor's text for a place, and the JSON in one. */
export const encoded = (place: ReadonlyArray<unknown>): string => Buffer.from(JSON.stringify(place)).toString("base64url")
export const textOf = (cursor: string): string => Buffer.from(cursor, "base64url").toString("utf8")

/** None for a cursor that this gateway did not issue. */
const readCursor = (cursor: string) => Option.map(decodeCursor(textOf(cursor)), ([createdAt, id]) => ({ createdAt, id }))
/** None also for a cursor of another order. */
export const readOrderedCursor = (cursor: string, order: string) =>
  order === "created"
    ? Option.map(readCursor(cursor), ({ createdAt: at, id }) => ({ at, id }))
    : decodeOrdered(textOf(cursor)).pipe(
        Option.filter(([, , its]) => its === order),
        Option.map(([at, id]) => ({ at, id }))
      )

export const CURSOR_RULE = "must be a cursor that this list gave"

/** Where a page begins; null for the first one. */
export const positionOf = (cursor: string | undefined) =>
  cursor === undefined
    ? Effect.succeed(null)
    : Option.match(readCursor(cursor), {
        onNone: () => Effect.fail(new ValidationFailed({ issues: [{ path: "cursor", message: CURSOR_RULE }] })),
        onSome: Effect.succeed
      })

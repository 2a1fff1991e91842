import { Option, Result, Schema } from "effect"
import { Currency } from "../../domain/Currency.ts"
import { optional } from "../../domain/Description.ts"
import { ExchangeStatus } from "../../domain/Exchange.ts"
import { type Issue, ValidationFailed } from "../../domain/errors/Terminal.ts"
import { CollectionStatus, PayoutStatus } from "../../domain/Payment.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import {
  type ListOrder,
  type ListPosition,
  orderOf,
  type TimeRange,
  type TransactionFilter,
  type TransactionPage
} from "../../services/ports/Transactions.ts"
import { bounded, childPath, issueAt } from "../json/Issues.ts"
import { CURSOR_RULE, Flag, MomentText, momentOf, orderedCursorOf, pageQueryOf, readOrderedCursor } from "./Page.ts"

export const TRANSACTIONS_A_PAGE = 20

const Key = Schema.String.check(Schema.isPattern(/^[\x20-\x7e]{1,255}$/, { expected: "1 to 255 printable ASCII characters" }))

/** The filters that all lists of records have, in addition to one `metadata.KEY` (contract TXN-11, TXN-18, TXN-19). */
const recordQuery = {
  ...pageQueryOf(TRANSACTIONS_A_PAGE),
  needs_review: optional(Flag, "Only those that wait for a person, or only those that do not"),
  created_from: optional(MomentText, "Only those created at this moment or later"),
  created_to: optional(MomentText, "Only those created before this moment"),
  completed_from: optional(MomentText, "Only those completed at this moment or later, the last completed first"),
  completed_to: optional(MomentText, "Only those completed before this moment, the last completed first"),
  updated_from: optional(
    MomentText,
    "Only those that last changed at this moment or later, the last changed last. To stay in step with a list, go on from ten minutes before the last `updated_at` that you saw"
  ),
  idempotency_key: optional(Key, "Only those that were created with this `Idempotency-Key`, for as long as the key is kept")
}

/** For the descriptions of lists of records. */
export const ORDERS =
  "With `completed_from` or `completed_to` the last completed comes first; with `updated_from` the last changed comes last, so that you stay in step with the list: keep what you read by `reference`, the copy with the higher `version`, and go on with an `updated_from` ten minutes before the last `updated_at` that you saw."
export const PAGES =
  "A page may hold fewer items than `limit`, or none, and still have a `next_cursor`. Walking skips and repeats none while new ones arrive; one that changes meanwhile is where its change is. A filter or value that the list does not know is `validation_failed`."

/** `GET /v1/transactions`. */
export const transactionQuery = {
  ...recordQuery,
  kind: optional(Schema.Literals(["collection", "payout"]), "Only collections, or only payouts"),
  status: optional(
    Schema.Literals([...new Set([...CollectionStatus.literals, ...PayoutStatus.literals])]),
    "Only those with this status"
  ),
  currency: optional(Currency, "Only those that move float of this currency")
}

/** `GET /v1/fx/exchanges`. */
export const exchangeQuery = {
  ...recordQuery,
  status: optional(Schema.Literals(ExchangeStatus.literals), "Only those with this status"),
  currency: optional(Currency, "Only those that give or bring this currency")
}

const METADATA = "metadata."
/** The names of the parameters that `metadataFilter` describes. */
export const metadataNames = /^metadata\..+$/s

/** A parameter whose name contains one of the tenant's own, one for each member of the metadata: `?metadata.order=A-1`. */
export const metadataFilter = {
  name: "metadata",
  in: "query",
  required: false,
  description:
    "Only those whose metadata has this member with exactly this text. Send it as `metadata.KEY=VALUE`, once: `metadata.order=A-1`",
  style: "form",
  explode: true,
  schema: {
    type: "object",
    propertyNames: { type: "string", pattern: metadataNames.source },
    additionalProperties: { type: "string" },
    maxProperties: 1
  },
  example: { "metadata.order": "A-1" }
}

type Sent<Query extends Readonly<Record<string, Schema.Top>>> = { readonly [K in keyof Query]?: Query[K]["Type"] }
type RecordQuery = Sent<typeof recordQuery> & Partial<Pick<Sent<typeof transactionQuery>, "kind" | "status" | "currency">>

interface ListRequest {
  readonly filter: TransactionFilter
  readonly page: { readonly limit: number; readonly from: ListPosition | null }
}

/** All query parameters by name, as they were sent. */
type Parameters = Readonly<Record<string, string | ReadonlyArray<string>>>

/** Decodes the query of a list, or returns every mistake in it. */
export const listRequest = (query: RecordQuery, all: Parameters): Result.Result<ListRequest, ValidationFailed> => {
  const filter: TransactionFilter = {
    kind: query.kind ?? null,
    status: query.status ?? null,
    needsReview: query.needs_review === undefined ? null : query.needs_review === "true",
    currency: query.currency ?? null,
    created: rangeOf(query.created_from, query.created_to),
    completed: rangeOf(query.completed_from, query.completed_to),
    updatedFrom: momentOf(query.updated_from),
    idempotencyKey: query.idempotency_key ?? null,
    metadata: metadataMember(all)
  }
  const from = query.cursor === undefined ? null : Option.getOrUndefined(readOrderedCursor(query.cursor, orderOf(filter)))
  const issues = bounded(from === undefined ? [issueAt(childPath(null, "cursor"), CURSOR_RULE)] : [], metadataMistakes(all))
  if (from === undefined || issues.length > 0) return Result.fail(new ValidationFailed({ issues }))
  return Result.succeed({ filter, page: { limit: query.limit ?? TRANSACTIONS_A_PAGE, from } })
}

/** The view of a page. Its cursor is a place in the list's order. */
export const listView = <R extends Transaction, V>(
  { items, next }: TransactionPage<R>,
  view: (record: R) => V,
  order: ListOrder = "created"
) => ({ items: items.map(view), next_cursor: next === null ? null : orderedCursorOf(next, order) })

const rangeOf = (from: string | undefined, to: string | undefined): TimeRange | null =>
  from === undefined && to === undefined ? null : { from: momentOf(from), to: momentOf(to) }

function* metadataMistakes(all: Parameters): Generator<Issue, void> {
  const members = Object.entries(all).filter(([name]) => name.startsWith(METADATA))
  for (const [name] of members.slice(1)) yield issueAt(childPath(null, name), ONE_MEMBER)
  for (const [name, value] of members) if (!isMetadata(name, value)) yield issueAt(childPath(null, name), NO_METADATA)
}

const metadataMember = (all: Parameters): TransactionFilter["metadata"] => {
  const [name, value] = Object.entries(all).find(([each]) => each.startsWith(METADATA)) ?? []
  return name === undefined || typeof value !== "string" ? null : { key: name.slice(METADATA.length), value }
}

/** PostgreSQL text cannot contain NUL. */
const isMetadata = (name: string, value: string | ReadonlyArray<string>): boolean =>
  typeof value === "string" && !`${name}${value}`.includes("\0")

const ONE_MEMBER = "is a second member of metadata, and only one can be asked for"
const NO_METADATA = "must name one member of metadata and its value, once"

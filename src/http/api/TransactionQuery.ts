import { Option, Result, Schema } from "effect"
import { Currency } from "../../domain/Currency.ts"
import { optional } from "../../domain/Description.ts"
import { type Issue, ValidationFailed } from "../../domain/errors/Terminal.ts"
import { type Instant, instantOf } from "../../domain/Instant.ts"
import { CollectionStatus, PayoutStatus } from "../../domain/Payment.ts"
import type { TransactionFilter, TransactionPosition } from "../../services/ports/Transactions.ts"
import { bounded, childPath, issueAt } from "../json/Issues.ts"
import { CURSOR_RULE, Flag, pageQueryOf, readCursor } from "./Page.ts"
import { Timestamp } from "./Wire.ts"

export const TRANSACTIONS_A_PAGE = 20
const METADATA = "metadata."

const Key = Schema.String.check(Schema.isPattern(/^[\x20-\x7e]{1,255}$/, { expected: "1 to 255 printable ASCII characters" }))
const Moment = Timestamp

/** `GET /v1/transactions`: what narrows the list, beside one `metadata.KEY` (contract TXN-11). */
export const transactionQuery = {
  ...pageQueryOf(TRANSACTIONS_A_PAGE),
  kind: optional(Schema.Literals(["collection", "payout"]), "Only collections, or only payouts"),
  status: optional(
    Schema.Literals([...new Set([...CollectionStatus.literals, ...PayoutStatus.literals])]),
    "Only those with this status"
  ),
  needs_review: optional(Flag, "Only those that wait for a person, or only those that do not"),
  currency: optional(Currency, "Only those that move float of this currency"),
  created_from: optional(Moment, "Only those created at this moment or later"),
  created_to: optional(Moment, "Only those created before this moment"),
  idempotency_key: optional(Key, "Only those that were created with this `Idempotency-Key`, for as long as the key is kept")
}

/** A parameter whose name holds a name of the tenant's own. Its members are parameters of their own: `?metadata.order=A-1`. */
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
    propertyNames: { type: "string", pattern: "^metadata\\..+$" },
    additionalProperties: { type: "string" },
    maxProperties: 1
  },
  example: { "metadata.order": "A-1" }
}

type TransactionQuery = { readonly [K in keyof typeof transactionQuery]?: (typeof transactionQuery)[K]["Type"] }

interface ListRequest {
  readonly filter: TransactionFilter
  readonly page: { readonly limit: number; readonly from: TransactionPosition | null }
}

/** Every parameter by its name, as it was sent. */
type Parameters = Readonly<Record<string, string | ReadonlyArray<string>>>

/** The request for a list, or every mistake in it. A misspelt filter is a mistake; it does not list everything. */
export const listRequest = (query: TransactionQuery, all: Parameters): Result.Result<ListRequest, ValidationFailed> => {
  const issues = bounded(mistakes(query, all))
  if (issues.length > 0) return Result.fail(new ValidationFailed({ issues }))
  const filter: TransactionFilter = {
    kind: query.kind ?? null,
    status: query.status ?? null,
    needsReview: query.needs_review === undefined ? null : query.needs_review === "true",
    currency: query.currency ?? null,
    createdFrom: Option.getOrNull(momentOf(query.created_from)),
    createdTo: Option.getOrNull(momentOf(query.created_to)),
    idempotencyKey: query.idempotency_key ?? null,
    metadata: metadataMember(all)
  }
  return Result.succeed({
    filter,
    page: { limit: query.limit ?? TRANSACTIONS_A_PAGE, from: Option.getOrNull(positionOf(query.cursor)) }
  })
}

function* mistakes(query: TransactionQuery, all: Parameters): Generator<Issue, void> {
  for (const name of ["created_from", "created_to"] as const)
    if (query[name] !== undefined && Option.isNone(momentOf(query[name]))) yield issueAt(childPath(null, name), MOMENT_RULE)
  if (query.cursor !== undefined && Option.isNone(positionOf(query.cursor))) yield issueAt(childPath(null, "cursor"), CURSOR_RULE)
  for (const name of Object.keys(all))
    if (!Object.hasOwn(transactionQuery, name) && !name.startsWith(METADATA)) yield issueAt(childPath(null, name), UNKNOWN_FILTER)
  const [, ...others] = Object.entries(all).filter(([name]) => name.startsWith(METADATA))
  for (const [name] of others) yield issueAt(childPath(null, name), ONE_MEMBER)
  for (const [name, value] of Object.entries(all))
    if (name.startsWith(METADATA) && !isMetadata(name, value)) yield issueAt(childPath(null, name), NO_METADATA)
}

const momentOf = (text: string | undefined): Option.Option<Instant> =>
  text === undefined ? Option.none() : Option.filter(instantOf(text), (at) => at >= 0)

const positionOf = (cursor: string | undefined): Option.Option<TransactionPosition> =>
  cursor === undefined ? Option.none() : readCursor(cursor)

const metadataMember = (all: Parameters): TransactionFilter["metadata"] => {
  const [name, value] = Object.entries(all).find(([each]) => each.startsWith(METADATA)) ?? []
  return name === undefined || typeof value !== "string" ? null : { key: name.slice(METADATA.length), value }
}

/** A text of the database holds no zero byte. */
const isMetadata = (name: string, value: string | ReadonlyArray<string>): boolean =>
  typeof value === "string" && name.length > METADATA.length && !`${name}${value}`.includes("\0")

const MOMENT_RULE = "must be a moment in UTC such as 2026-01-31T12:00:00.000Z"
const UNKNOWN_FILTER = "is not a filter of this list"
const ONE_MEMBER = "is a second member of metadata, and only one can be asked for"
const NO_METADATA = "must name one member of metadata and its value, once"

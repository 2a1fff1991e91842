import { Option, Redacted, Result } from "effect"
import type { Issue } from "../../domain/errors/Terminal.ts"
import { msisdnAsWritten } from "../../domain/Msisdn.ts"
import { accountNumberIdentity } from "../../domain/PartyIdentity.ts"
import { receiptIdentity } from "../../domain/ProviderReceipt.ts"
import type { ListPosition, MetadataMember } from "../../services/ports/Transactions.ts"
import type { SearchTerm } from "../../services/RecordSearch.ts"
import { CURSOR_RULE, readOrderedCursor } from "../api/Page.ts"
import { TRANSACTIONS_A_PAGE } from "../api/TransactionQuery.ts"
import { MOST_MEMBERS, SearchBody } from "../api/Transactions.ts"
import { childPath, issueAt } from "../json/Issues.ts"
import { isJsonObject, type JsonTree, NumberLiteral } from "../json/StrictJson.ts"
import { type Body, type BodyError, invalid, makeDecoder, metadataWithinLimit } from "./Body.ts"

interface SearchCommand {
  readonly term: SearchTerm
  readonly page: { readonly limit: number; readonly from: ListPosition | null }
}

type Wire = typeof SearchBody.Type
type Term = Result.Result<SearchTerm, ReadonlyArray<Issue>>

const decode = makeDecoder(SearchBody)
const TERMS = ["msisdn", "account_number", "metadata", "provider_receipt"] as const

/** The body of `POST /v1/transactions/search`. */
export const searchBody = (body: JsonTree): Result.Result<Body<SearchCommand>, BodyError> =>
  Result.gen(function* () {
    const { ignored, tree, wire } = yield* decode(body)
    const from = wire.cursor === undefined ? Option.some(null) : readOrderedCursor(wire.cursor, "created")
    const tooLarge = metadataWithinLimit(tree)
    const term = Result.isFailure(tooLarge) ? Result.fail(tooLarge.failure) : termOf(wire, tree["metadata"])
    const issues = [
      ...(Result.isFailure(term) ? term.failure : []),
      ...(wire.country !== undefined && wire.msisdn === undefined ? [{ path: "country", message: COUNTRY_RULE }] : []),
      ...(Option.isNone(from) ? [{ path: "cursor", message: CURSOR_RULE }] : [])
    ]
    if (Result.isFailure(term) || Option.isNone(from) || issues.length > 0) return yield* invalid(issues)
    const page = { limit: wire.limit ?? TRANSACTIONS_A_PAGE, from: from.value }
    return { command: { term: term.success, page }, fingerprint: null, ignored }
  })

const termOf = (wire: Wire, metadata: JsonTree | undefined): Term => {
  const [first, ...others] = TERMS.filter((name) => wire[name] !== undefined)
  if (first === undefined) return Result.fail([{ path: TERMS[0], message: NO_TERM }])
  if (others.length > 0) return Result.fail(others.map((path) => ({ path, message: `must not be beside ${first}` })))
  if (wire.msisdn !== undefined) return numberTerm(wire.msisdn, wire.country ?? null)
  if (wire.account_number !== undefined) return accountTerm(wire.account_number)
  return wire.provider_receipt === undefined ? metadataTerm(metadata) : receiptTerm(wire.provider_receipt)
}

/** Accepts any spelling that people use, because support staff copy numbers from letters and phone calls. */
const numberTerm = (text: string, country: string | null): Term =>
  Option.match(msisdnAsWritten(text, country), {
    onNone: () => Result.fail([{ path: "msisdn", message: country === null ? MSISDN_RULE : NATIONAL_RULE }]),
    onSome: (msisdn) => Result.succeed({ _tag: "number", msisdn: Redacted.make(msisdn) })
  })

const accountTerm = (text: string): Term => {
  const number = Redacted.make(text)
  return Redacted.value(accountNumberIdentity(number)) === ""
    ? Result.fail([{ path: "account_number", message: LETTERS_RULE }])
    : Result.succeed({ _tag: "account", number })
}

const receiptTerm = (text: string): Term =>
  receiptIdentity(text) === ""
    ? Result.fail([{ path: "provider_receipt", message: LETTERS_RULE }])
    : Result.succeed({ _tag: "receipt", text })

/** Numbers keep every digit as it was sent, because they are compared as text. */
const metadataTerm = (tree: JsonTree | undefined): Term => {
  const members = isJsonObject(tree) ? Object.entries(tree) : []
  if (members.length === 0 || members.length > MOST_MEMBERS)
    return Result.fail([{ path: "metadata", message: `must have 1 to ${MOST_MEMBERS} members` }])
  const read = members.map(([key, value]) => ({ key, value: textOf(value) }))
  const wrong = read.filter(({ value }) => value === null)
  if (wrong.length > 0)
    return Result.fail(wrong.map(({ key }) => issueAt(childPath(childPath(null, "metadata"), key), MEMBER_RULE)))
  return Result.succeed({
    _tag: "metadata",
    members: read.flatMap(({ key, value }): ReadonlyArray<MetadataMember> => (value === null ? [] : [{ key, value }]))
  })
}

const textOf = (value: JsonTree): string | null => {
  if (value instanceof NumberLiteral) return value.source
  return typeof value === "string" || typeof value === "boolean" ? String(value) : null
}

const NO_TERM = "is required, or one of account_number, metadata and provider_receipt"
const MSISDN_RULE = "must be a phone number with its country's prefix, or a national one with `country` beside it"
const NATIONAL_RULE = "must be a phone number of a possible length, of that country where it has no prefix"
const COUNTRY_RULE = "must be beside a msisdn"
const LETTERS_RULE = "must have letters or digits"
const MEMBER_RULE = "must be a text, a number or a boolean"

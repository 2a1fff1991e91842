import { Effect, Option, Result, Schema, SchemaIssue } from "effect"
import { maskedProviderCall } from "../domain/Masking.ts"
import { logAlarm } from "./AnswerParsing.ts"

// A provider's list is parsed row by row: a row that cannot be parsed is reported, and the others are used.

type Raw = Readonly<Record<string, unknown>>

/** Why a row cannot be parsed, for the operator: the member and its value, with personal data masked. */
interface Unread {
  readonly word: string
}

export const readRow = <A>(schema: Schema.ConstraintDecoder<A>): ((raw: unknown) => Result.Result<A, Unread>) => {
  const decode = Schema.decodeUnknownResult(schema)
  return (raw) => Result.mapError(decode(raw), ({ issue }) => ({ word: wordIn(raw, membersIn(issue)) }))
}

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

const membersIn = (issue: SchemaIssue.Issue): ReadonlyArray<string> =>
  issuesOf(issue).issues.flatMap(({ path }) => (path?.[0] === undefined ? [] : [String(path[0])]))

/** The values of these members of a row, masked: `"status":"sleeping"`. */
export const wordIn = (raw: unknown, members: ReadonlyArray<string>): string => {
  if (!isRow(raw)) return "it is no row"
  const words = [...new Set(members)].map((member) => {
    const value = raw[member]
    return value === undefined ? `no ${JSON.stringify(member)}` : maskedMember(member, value)
  })
  return shortened(words.join(", "))
}

const maskedMember = (member: string, value: unknown): string =>
  maskedProviderCall(JSON.stringify({ [member]: value }), null).request.slice(1, -1)

const LONGEST_WORD = 120
const shortened = (text: string): string => {
  const characters = Array.from(text)
  return characters.length <= LONGEST_WORD ? text : `${characters.slice(0, LONGEST_WORD).join("")}…`
}

const LONGEST_NAME = 64

/** The first of these members that is a text; it identifies a row that cannot be parsed. Numbers are texts here (`exactJson`). */
export const nameIn = (raw: unknown, ...members: ReadonlyArray<string>): string | null => {
  if (!isRow(raw)) return null
  const texts = members.map((member) => raw[member]).filter((value) => typeof value === "string")
  return texts.find((text) => text !== "" && text.length <= LONGEST_NAME) ?? null
}

const isRow = (raw: unknown): raw is Raw => typeof raw === "object" && raw !== null && !Array.isArray(raw)

/**
 * The readable rows of a list. An unreadable row raises an alarm and is left out. Identical rows are merged, because wallets
 * are added up and customers choose from the list of banks.
 */
export const readableRows = Effect.fnUntraced(function* <A>(
  provider: string,
  operation: string,
  schema: Schema.ConstraintDecoder<A>,
  raws: ReadonlyArray<unknown>
) {
  const read = readRow(schema)
  const rows = new Map<string, { readonly at: number; readonly one: Result.Result<A, Unread> }>()
  for (const [at, raw] of raws.entries()) {
    const text = JSON.stringify(raw)
    if (!rows.has(text)) rows.set(text, { at, one: read(raw) })
  }
  const results = [...rows.values()]
  const unread = results.flatMap(({ at, one }) => (Result.isFailure(one) ? [`row ${at + 1}: ${one.failure.word}`] : []))
  yield* tellUnread(provider, operation, unread)
  return results.flatMap(({ one }) => Option.toArray(Result.getSuccess(one)))
})

/** Logs one alarm for a whole list. */
export const tellUnread = (provider: string, operation: string, unread: ReadonlyArray<string>): Effect.Effect<void> => {
  const [first] = unread
  if (first === undefined) return Effect.void
  const alarm = `${unread.length} rows of a list cannot be read and are left out; the first is ${first}`
  return Effect.annotateLogs(logAlarm(alarm), { provider, operation })
}

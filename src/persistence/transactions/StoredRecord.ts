import { Exit, Schema, SchemaGetter, SchemaParser } from "effect"
import type { Exchange } from "../../domain/Exchange.ts"
import type { Collection, Payout } from "../../domain/Payment.ts"
import { Transaction } from "../../domain/Transaction.ts"
import { storableJson } from "../connection/Columns.ts"
import { type HistoryDigest, rememberingDigest } from "./HistoryDigest.ts"

const common = {
  providerReference: null,
  needsReview: false,
  failure: null,
  completedAt: null,
  asked: 0,
  notFound: 0
} satisfies Partial<Exchange>
const ofPayments = { ...common, fees: null, network: null, narration: null, expiresAt: null } satisfies Partial<Payout>

/**
 * The value that a member has in most records. It is not stored, because every byte is written to the write-ahead log with each
 * step. An absent member has this value, so a value must never change here.
 */
const unsaid: Readonly<Record<string, Readonly<Record<string, Schema.Json>>>> = {
  collection: {
    ...ofPayments,
    observedAmount: null,
    observedCurrency: null,
    maskedSource: null,
    nextAction: null,
    lateSuccess: false,
    reversed: null
  } satisfies Partial<Collection>,
  payout: { ...ofPayments, amountType: null, deductFeeFromAmount: false, holder: null, returned: null } satisfies Partial<Payout>,
  exchange: common satisfies Partial<Exchange>
}

const encodeRecord = Schema.encodeSync(Schema.toCodecJson(Transaction))
const decodeRecord = Schema.decodeUnknownSync(Schema.toCodecJson(Transaction))

const isObject = (json: Schema.Json): json is Schema.JsonObject => typeof json === "object" && json !== null && "kind" in json

/** Members that steps rarely change. */
const constant: ReadonlySet<string> = new Set([
  "kind",
  "reference",
  "appId",
  "mode",
  "amount",
  "amountCurrency",
  "currency",
  "corridor",
  "network",
  "narration",
  "metadata",
  "createdAt",
  "principal",
  "destinationAmount",
  "destinationCurrency",
  "maskedDestination",
  "maskedSource"
])

/** As a step writes a record: with the digest of its history. */
export const recordTextWith = (record: Transaction, lines: HistoryDigest): string => textWith(record, { lines })

export const recordText = (record: Transaction): string => textWith(record, {})

/**
 * For an update in place, the write-ahead log contains the bytes from the first difference to the last. So what stays the same
 * comes last, and the text is padded to a multiple of four bytes, the alignment of the columns behind it.
 */
const textWith = (record: Transaction, changing: Record<string, unknown>): string => {
  const silent = unsaid[record.kind] ?? {}
  const encoded = withEverything(record, encodeRecord(record))
  if (!isObject(encoded)) return storableJson(encoded)
  const same: Record<string, unknown> = {}
  for (const name in encoded) if (silent[name] !== encoded[name]) (constant.has(name) ? same : changing)[name] = encoded[name]
  const [first, last] = [`${storableJson(changing).slice(0, -1)},`, storableJson(same).slice(1)]
  return first + " ".repeat(-Buffer.byteLength(first + last) & 3) + last
}

/** Members of a newer release are kept, whatever this program changed. */
const withEverything = (record: Transaction, encoded: Schema.Json): Schema.Json => {
  const was = storedBehind(record)
  if (was === undefined) return encoded
  const read = encodeRecord(decodeRecord(was))
  return isObject(encoded) && isObject(read) ? withUnread(encoded, was, read) : encoded
}

/** The stored record with its defaults, and the digest of its history. */
const said = (stored: Schema.Json): { readonly whole: Schema.Json; readonly lines?: Schema.Json | undefined } => {
  if (!isObject(stored) || typeof stored["kind"] !== "string") return { whole: stored }
  const { lines, ...record } = stored
  return { whole: { ...unsaid[stored["kind"]], ...record }, lines }
}

/** The driver's value of a JSON column. */
const Parsed = Schema.declare((value): value is Schema.Json => value !== undefined)

/** A record, or one kind of record, in a column. Only `recordText` writes it. */
export const storedRecord = <A>(record: Schema.Codec<A, unknown>) => {
  const decode = SchemaParser.decodeUnknownExit(Schema.toCodecJson(record))
  const Carrying = Schema.declare((value): value is A => value !== undefined)
  return Parsed.pipe(
    Schema.decodeTo(Carrying, {
      decode: SchemaGetter.transformEffect((json: Schema.Json, options) => {
        const { lines, whole } = said(json)
        // Without an Effect, because a page has a hundred records.
        const read = decode(whole, options)
        return Exit.isSuccess(read) ? Exit.succeed(rememberingDigest(carryingUnread(read.value, whole), lines)) : read
      }),
      encode: SchemaGetter.forbidden(() => "a record is written as text")
    })
  )
}

/**
 * The record as it was stored, carried along with the decoded one. Members that a newer release wrote mean nothing to this
 * program, but must survive when it changes the record. Steps build the next record by spreading the previous one, which
 * carries this along.
 */
const stored = Symbol("gateway/persistence/stored")

const carriesStored = (record: object): record is { readonly [stored]: Schema.JsonObject } => stored in record

/** Attaches the stored form, when this program did not decode all of it. */
const carryingUnread = <A>(record: A, json: Schema.Json): A =>
  isJsonObject(json) && typeof record === "object" && hasUnread(json, record) ? { ...record, [stored]: json } : record

/** The stored form of a record, when it had more than this program decodes. */
const storedBehind = (record: object): Schema.JsonObject | undefined => (carriesStored(record) ? record[stored] : undefined)

/**
 * The record to write: this program's members, and unknown ones unchanged. An object that is partly unknown keeps its unknown
 * part if the known part has not changed; otherwise the unknown part belonged to another object. `read`: the form in which this
 * program would write the stored record.
 */
const withUnread = (next: Schema.JsonObject, was: Schema.JsonObject, read: Schema.JsonObject): Schema.JsonObject => {
  const own = Object.entries(next).map(([name, value]) => {
    const isUnchanged = JSON.stringify(value) === JSON.stringify(read[name])
    return [name, isUnchanged ? (was[name] ?? value) : value] as const
  })
  const unread = Object.entries(was).filter(([name]) => !(name in read))
  return Object.fromEntries([...unread, ...own])
}

/** Decoding leaves out unknown members at any depth. */
const hasUnread = (json: Schema.Json, read: unknown): boolean => {
  if (typeof json !== "object" || json === null || typeof read !== "object" || read === null) return false
  for (const name in json) {
    if (!Object.hasOwn(read, name) || hasUnread(Reflect.get(json, name), Reflect.get(read, name))) return true
  }
  return false
}

const isJsonObject = (json: Schema.Json): json is Schema.JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

import { BigDecimal, Option, Result } from "effect"
import { type Currency, isCurrency } from "../../domain/Currency.ts"
import { isReference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { StatementLine, UnreadableRow } from "../../domain/ReconciliationDifference.ts"
import { majorUnits } from "../ProviderStatus.ts"
import { wordIn } from "../Rows.ts"
import { instantIn } from "../Statements.ts"

/** The columns to read, as pawaPay documents them. Case, blanks and punctuation in the header do not matter. */
const columns = {
  at: "Creation Date",
  id: "Transaction ID",
  amount: "Amount",
  currency: "Currency",
  type: "Type"
} as const
type Column = keyof typeof columns
const wanted: ReadonlyArray<Column> = ["at", "id", "amount", "currency", "type"]
/** Columns in which a refund may name its deposit, besides its own number; not documented. They are optional. */
const naming: ReadonlyArray<string> = ["Reason", "Metadata"]

/** The payment whose money a row moves. A refund is made in the dashboard only; a correction is made by pawaPay. */
type Payment = "collection" | "payout" | "refund"
/** A payment has a row when its money moves, one for each fee, and another if it fails afterwards. `own`: a treasury movement. */
type Meaning = { readonly of: Payment; readonly is: "moved" | "undone" | "fee" } | "correction" | "own"

// pawaPay's types of transactions. Any other type is not understood.
const types: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ["Deposit", { of: "collection", is: "moved" }],
  ["Deposit pass-through fee", { of: "collection", is: "fee" }],
  ["pawaPay deposit fee", { of: "collection", is: "fee" }],
  ["Payout", { of: "payout", is: "moved" }],
  ["Failed payout refund", { of: "payout", is: "undone" }],
  ["Payout pass-through fee", { of: "payout", is: "fee" }],
  ["pawaPay payout fee", { of: "payout", is: "fee" }],
  ["Refund", { of: "refund", is: "moved" }],
  ["Failed refund reversal", { of: "refund", is: "undone" }],
  ["Refund pass-through fee", { of: "refund", is: "fee" }],
  ["pawaPay refund fee", { of: "refund", is: "fee" }],
  ["Adjustment", "correction"],
  ["Compensation", "correction"],
  ["Top up", "own"],
  ["Withdrawal", "own"]
])

/** Letters and digits only: "Top up", "TOP_UP" and "topUp" are one word. */
const bare = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, "")
const meanings: ReadonlyMap<string, Meaning> = new Map([...types].map(([type, meaning]) => [bare(type), meaning]))

const directions = { collection: "collection", payout: "payout", refund: "payout" } as const

interface Moved {
  readonly amount: MinorUnits
  readonly currency: Currency
  readonly at: Instant
}

/** All rows of one payment. */
interface Entry {
  readonly of: Payment
  readonly id: string
  readonly moved: Array<Moved>
  readonly undone: Array<Moved>
  /** The exact sum of the rows, because the contract's fee is rounded once, not per row. */
  fee: { readonly sum: BigDecimal.BigDecimal; readonly currency: Currency } | null
  /** For a refund: everything in it that may be its deposit's number or our reference. */
  readonly names: Set<string>
  /** Where the first row is. */
  readonly place: string
  readonly at: Instant
}

/** Interprets a file row by row, without storing rows. */
export interface StatementRows {
  readonly read: (cells: ReadonlyArray<string>) => void
  /** The missing columns and the columns of the header; null before the header, and when none is missing. */
  readonly without: () => { readonly missing: ReadonlyArray<string>; readonly there: ReadonlyArray<string> } | null
  readonly hasHeader: () => boolean
  readonly lines: () => ReadonlyArray<StatementLine>
  readonly unreadable: () => ReadonlyArray<UnreadableRow>
}

export const statementRows = (name: string): StatementRows => {
  const entries = new Map<string, Entry>()
  const corrections: Array<StatementLine> = []
  const unreadable = new Map<string, UnreadableRow>()
  let header: Header | null = null
  let rows = 0

  const missing = () => (header === null ? [] : wanted.filter((column) => header?.at[column] === -1).map((one) => columns[one]))

  const notRead = (raw: Readonly<Record<Column, string>>, place: string, ...of: ReadonlyArray<Column>) => {
    const id = raw.id === "" ? null : raw.id.slice(0, LONGEST_ID)
    const named = Object.fromEntries(wanted.map((column) => [columns[column], raw[column]]))
    const word = wordIn(
      named,
      of.map((column) => columns[column])
    )
    const at = momentIn(raw.at)
    unreadable.set(id ?? place, { direction: null, place, providerReference: id, reference: null, at, word })
  }

  const readRow = (raw: Readonly<Record<Column, string>>, place: string, beside: ReadonlyArray<string>) => {
    const meaning = meanings.get(bare(raw.type))
    if (meaning === "own") return
    if (meaning === undefined) return notRead(raw, place, "type")
    // A wallet in a currency that the gateway does not know holds no movements of ours.
    if (/^[A-Z]{3}$/.test(raw.currency) && !isCurrency(raw.currency)) return
    if (!isCurrency(raw.currency)) return notRead(raw, place, "currency")
    const currency = raw.currency
    const at = momentIn(raw.at)
    if (at === null) return notRead(raw, place, "at")
    // Whether outgoing amounts have a sign is not documented; the type gives the direction.
    const format = meaning !== "correction" && meaning.is === "fee" ? majorUnits.up : majorUnits.exact
    const unsigned = raw.amount.replace(/^[+-]/, "")
    const amount = format(unsigned, currency)
    const written = BigDecimal.fromString(unsigned)
    if (Result.isFailure(amount) || Option.isNone(written)) return notRead(raw, place, "amount")
    const moved = { amount: amount.success, currency, at }
    if (meaning === "correction") {
      const direction = raw.amount.startsWith("-") ? "payout" : "collection"
      const providerReference = raw.id === "" ? `${name}, ${raw.type} of ${raw.at}` : raw.id
      corrections.push({ direction, providerReference, reference: null, ...moved, fee: null, status: "successful" })
      return
    }
    if (raw.id === "") return notRead(raw, place, "id")
    const { is, of } = meaning
    const key = `${of} ${raw.id}`
    const entry = entries.get(key) ?? { of, id: raw.id, moved: [], undone: [], fee: null, names: new Set<string>(), place, at }
    entries.set(key, entry)
    if (of === "refund") for (const name of [raw.id, ...beside.flatMap(namesIn)].slice(0, NAMES_AT_MOST)) entry.names.add(name)
    if (is === "fee") entry.fee = { sum: BigDecimal.sum(entry.fee?.sum ?? NOTHING, written.value), currency }
    else entry[is].push(moved)
  }

  return {
    read: (cells) => {
      if (header === null) {
        const there = cells.map((cell) => cell.trim())
        const placeOf = (column: Column) => there.findIndex((one) => bare(one) === bare(columns[column]))
        const at = { at: placeOf("at"), id: placeOf("id"), amount: placeOf("amount"), currency: placeOf("currency") }
        const beside = naming.flatMap((name) => there.findIndex((one) => bare(one) === bare(name)))
        header = { there, at: { ...at, type: placeOf("type") }, beside }
        return
      }
      rows += 1
      if (missing().length > 0) return
      const { at, beside } = header
      const cell = (column: Column): string => (cells[at[column]] ?? "").trim()
      const raw = { at: cell("at"), id: cell("id"), amount: cell("amount"), currency: cell("currency"), type: cell("type") }
      readRow(
        raw,
        `${name}, row ${rows}`,
        beside.map((one) => cells[one] ?? "")
      )
    },
    hasHeader: () => header !== null,
    without: () => (header === null || missing().length === 0 ? null : { missing: missing(), there: header.there }),
    // When one of its rows cannot be parsed, its fee may be incomplete.
    lines: () => [
      ...[...entries.values()].flatMap((entry) => linesOf(unreadable.has(entry.id) ? { ...entry, fee: null } : entry)),
      ...corrections
    ],
    unreadable: () => [
      ...unreadable.values(),
      ...[...entries.values()].flatMap((entry) => (unreadable.has(entry.id) ? [] : withoutPayment(entry)))
    ]
  }
}

interface Header {
  readonly there: ReadonlyArray<string>
  readonly at: Readonly<Record<Column, number>>
  readonly beside: ReadonlyArray<number>
}

const NAMES_AT_MOST = 8

/** A deposit's number is a UUID; our reference has 26 characters. */
const namesIn = (text: string): ReadonlyArray<string> =>
  (text.match(/[A-Za-z0-9-]+/g) ?? []).filter((word) => isReference(word) || UUID.test(word))
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const LONGEST_ID = 64
const NOTHING = BigDecimal.make(0n, 0)

const feeOf = (fee: Entry["fee"]): MinorUnits | null =>
  fee === null ? null : Result.getOrElse(majorUnits.up(BigDecimal.format(fee.sum), fee.currency), () => null)

/** A second row of one payment's money is a second movement. One that came back has failed, also where it left on an earlier day. */
const linesOf = ({ fee, id, moved, names, of, undone }: Entry): ReadonlyArray<StatementLine> =>
  [...moved, ...undone.slice(moved.length)].map((one, index) => ({
    direction: directions[of],
    providerReference: id,
    reference: null,
    ...one,
    fee: index === 0 ? feeOf(fee) : null,
    status: index < undone.length ? "failed" : of === "collection" ? "credited" : "debited",
    ...(of === "refund" && { refundOf: [...names] })
  }))

/** A time without a zone is UTC, as pawaPay says. */
const withoutPayment = ({ at, fee, id, moved, place, undone }: Entry): ReadonlyArray<UnreadableRow> =>
  fee === null || moved.length + undone.length > 0
    ? []
    : [{ direction: null, place, providerReference: id, reference: null, at, word: "a fee without its payment" }]

/** Without a zone it is UTC, as pawaPay says. */
const momentIn = (text: string): Instant | null => {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)$/.exec(text) ?? []
  if (day !== undefined) return instantIn(`${day}T${time}Z`)
  return /(Z|[+-]\d\d:?\d\d)$/.test(text) ? instantIn(text) : null
}

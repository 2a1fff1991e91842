import { isOpenedBy } from "./Contradiction.ts"
import type { Currency } from "./Currency.ts"
import { type Instant, iso, isoOrNull } from "./Instant.ts"
import { type MinorUnits, minor, ZERO } from "./Money.ts"
import type { Transaction, TransactionKind } from "./Transaction.ts"

/** One movement of money as the provider's own account lists it. */
export interface StatementLine {
  readonly direction: Direction
  readonly providerReference: string
  /** Our reference, where the provider shows it. */
  readonly reference: string | null
  /** Without fees, in `currency`, which is the source currency. */
  readonly amount: MinorUnits
  readonly currency: Currency
  /** Null where the statement does not name it. */
  readonly fee: MinorUnits | null
  /** `debited`: left the account, and may have arrived. `credited`: came in, and what was taken back has rows of its own. */
  readonly status: "pending" | "debited" | "credited" | "successful" | "failed" | "returned"
  readonly at: Instant
  /** For a refund that is a separate movement: every value that may identify its charge. Absent: it is no refund. */
  readonly refundOf?: ReadonlyArray<string>
}
type Direction = TransactionKind

/** A row of the provider's list that cannot be compared, or a whole list that cannot be read. */
export interface UnreadableRow {
  readonly direction: null
  /** The list, the page and the row of the page where it was last shown; for a whole list its name. */
  readonly place: string
  readonly providerReference: string | null
  readonly reference: string | null
  /** Null where not even that can be read. */
  readonly at: Instant | null
  /** The unreadable value, masked; for a whole list, why it cannot be read. */
  readonly word: string
}

/** The movements that an account lists for one day. */
export interface Statement {
  readonly lines: ReadonlyArray<StatementLine>
  readonly unreadable: ReadonlyArray<UnreadableRow>
  /** The lines that were in one reading of their list and missing from the next, up to the last reading. */
  readonly unsteady: ReadonlyArray<StatementLine>
  /** A whole list is among the unreadable ones: `lines` lacks everything that it would have shown. */
  readonly isPart?: true
}

/** The provider's statement about one of our records. A field that it does not give is null. */
export type ProviderRecord =
  | {
      readonly status: StatementLine["status"]
      readonly amount: MinorUnits | null
      readonly currency: Currency | null
      readonly fee: MinorUnits | null
      /** Absent where the provider was polled: no answer names a time. */
      readonly at?: Instant
      readonly providerReference?: string | null
    }
  | { readonly status: "absent" }

/**
 * Where the provider's account and ours disagree. `missing_here`: the provider moved money that we have no record of.
 * `missing_there`: the provider does not know a payment that we consider sent. `doubled`: one reference of ours stands for
 * several movements. `unanswered`: it could not be found out. `unreadable`: a row or a whole list of the provider was left out,
 * and may be any movement. `unsteady`: a row that the provider's list shows only sometimes.
 */
export interface ReconciliationDifference {
  readonly kind:
    | "missing_here"
    | "missing_there"
    | "doubled"
    | "state"
    | "amount"
    | "currency"
    | "fee"
    | "unanswered"
    | "unreadable"
    | "unsteady"
  readonly direction: Direction | null
  readonly reference: string | null
  readonly provider_reference: string | null
  readonly ours: string | null
  readonly theirs: string | null
  /** Each line of the provider's account about it; empty where there is none. */
  readonly lines: ReadonlyArray<TheirLine>
  /** For a fee: the provider's reference in the statement row that names it; absent where an answer named it. */
  readonly row?: string
  /**
   * The provider's line alone is not enough for a ruling, because it has another amount or currency, is about a refund or an
   * exchange, whose yield no line names, or says nothing of what the review is about.
   */
  readonly takes_a_look?: true
}

/** A row of the provider's statement, or its answer, for programs. A field that it does not name is null. */
interface TheirLine {
  readonly provider_reference: string | null
  readonly status: StatementLine["status"] | null
  readonly amount_minor: MinorUnits | null
  readonly currency: Currency | null
  readonly fee_minor: MinorUnits | null
  readonly at: string | null
}

export const lineOf = (theirs: ProviderRecord): ReadonlyArray<TheirLine> =>
  theirs.status === "absent"
    ? []
    : [
        {
          provider_reference: theirs.providerReference ?? null,
          status: theirs.status,
          amount_minor: theirs.amount,
          currency: theirs.currency,
          fee_minor: theirs.fee,
          at: theirs.at === undefined ? null : iso(theirs.at)
        }
      ]

/**
 * `drift_booked`: the ledger booked exactly what the provider took beyond the held fee. `in_review`: a person is ruling on the
 * record. `pending`: we consider the record open, and poll for its outcome; where that stays unknown, OutcomeUnknown and
 * OpenForADay fire.
 */
export type KnownBecause = "drift_booked" | "in_review" | "pending"

/**
 * The reason why a difference of one record needs no person; null where there is none. A review explains neither money that
 * moved twice nor a record that was not compared.
 */
export const knownBecause = (
  { kind, ours, theirs }: ReconciliationDifference,
  { bookedDrift, isOpen, needsReview }: { readonly bookedDrift: bigint; readonly isOpen: boolean; readonly needsReview: boolean }
): KnownBecause | null => {
  if (kind === "fee" && bookedDrift > 0n && ours !== null && theirs !== null && BigInt(theirs) - BigInt(ours) === bookedDrift)
    return "drift_booked"
  if (needsReview && !unexplained.includes(kind)) return "in_review"
  return isOpen && ofOutcome.includes(kind) ? "pending" : null
}
/** The provider's account has another outcome than ours, or none. Another amount, or money that moved twice, is no such kind. */
const ofOutcome: ReadonlyArray<ReconciliationDifference["kind"]> = ["state", "missing_there", "unanswered"]
const unexplained: ReadonlyArray<ReconciliationDifference["kind"]> = ["doubled", "missing_here", "unreadable", "unsteady"]

/**
 * Whether the review of a record is about something else than this difference: a fee says nothing of a dispute or a return, and
 * no line under a reference that the provider knows for another request is about ours.
 */
export const isBesideReview = ({ kind, theirs }: ReconciliationDifference, record: Transaction): boolean =>
  record.ofAnother === true ||
  (kind === "fee" && !isOpenedBy(record, { _tag: "FeeStated", fee: minor(BigInt(theirs ?? 0)), note: "" }))

/** One line of a file of rulings: a record's outcome by the provider's account. The fee is null where that does not name it. */
interface StatedRuling {
  readonly reference: string
  readonly outcome: "successful" | "failed"
  readonly fee: MinorUnits | null
  readonly currency: Currency | null
}

/**
 * The records in review for which one line of the provider's account gives everything that a ruling needs: a success with its
 * fee, or a failure. Another amount, money that moved twice or came back, and a record that the provider lacks are left out: a
 * person looks at each of these separately.
 */
export const statedRulings = (
  all: ReadonlyArray<ReconciliationDifference & { readonly because?: KnownBecause }>
): ReadonlyArray<StatedRuling> =>
  [...Map.groupBy(all, ({ reference }) => reference)].flatMap(([reference, own]): ReadonlyArray<StatedRuling> => {
    const isPlain = own.every(({ because, kind, lines }) => because === "in_review" && ruled.includes(kind) && lines.length === 1)
    const line = own[0]?.lines[0]
    if (reference === null || !isPlain || line === undefined) return []
    const { currency, fee_minor, status } = line
    if (status === "failed") return [{ reference, outcome: status, fee: null, currency: null }]
    // A figure without its currency cannot be used.
    const isWhole = own.every(({ takes_a_look }) => takes_a_look !== true) && (fee_minor === null || currency !== null)
    return status === "successful" && isWhole ? [{ reference, outcome: status, fee: fee_minor, currency }] : []
  })
const ruled: ReadonlyArray<ReconciliationDifference["kind"]> = ["state", "fee"]

export const unreadableHere = ({ at, place, providerReference, reference, word }: UnreadableRow): ReconciliationDifference => ({
  kind: "unreadable",
  direction: null,
  reference,
  provider_reference: providerReference,
  ours: null,
  theirs: `${place}: ${word}`,
  lines: [
    {
      provider_reference: providerReference,
      status: null,
      amount_minor: null,
      currency: null,
      fee_minor: null,
      at: isoOrNull(at)
    }
  ]
})

export const unsteadyThere = (line: StatementLine): ReconciliationDifference => ({ ...missingHere(line, null), kind: "unsteady" })

/** `about` is a payment of ours that the row names, although the row is another movement. */
export const missingHere = (line: StatementLine, about: Transaction | null): ReconciliationDifference => ({
  kind: "missing_here",
  direction: line.direction,
  reference: about?.reference ?? line.reference,
  provider_reference: line.providerReference,
  ours: null,
  theirs: `${line.status} ${line.amount} ${line.currency}`,
  lines: lineOf(line)
})

/** The difference of one of our records as a whole. */
export const differenceOf = (
  record: Transaction,
  kind: ReconciliationDifference["kind"],
  theirs: string | null,
  lines: ReadonlyArray<TheirLine> = []
): ReconciliationDifference => ({
  kind,
  direction: record.kind,
  reference: record.reference,
  provider_reference: record.providerReference,
  ours: `${standingOf(record)} ${principalOf(record)} ${record.currency}`,
  theirs,
  lines
})

/** For a refund that is a separate movement: none where it failed, was booked, or a person who knew of it ruled. */
export const refundDifferences = (record: Transaction, line: StatementLine): ReadonlyArray<ReconciliationDifference> =>
  line.status === "failed" || (record.status === "successful" && !record.needsReview)
    ? []
    : [{ ...differenceOf(record, "state", `refunded ${line.amount} ${line.currency}`, lineOf(line)), takes_a_look: true }]

/** Whether the statement leaves the outcome open and our status differs from it so far: the provider has to be polled. */
export const isLeftOpen = (record: Transaction, { status }: StatementLine): boolean =>
  status === "debited" && !agreeing[standingOf(record)].includes(status)

/** Compared to the minor unit. Amounts, currency and fee are compared only where money moved. */
export const differences = (record: Transaction, theirs: ProviderRecord): ReadonlyArray<ReconciliationDifference> => {
  const ours = standingOf(record)
  if (!agreeing[ours].includes(theirs.status)) {
    const kind = theirs.status === "absent" ? "missing_there" : "state"
    const state = differenceOf(record, kind, describedRecord(theirs), lineOf(theirs))
    // No line says what an exchange yielded.
    const saysAll = record.kind !== "exchange" && hasOurAmount(record, theirs)
    return [saysAll ? state : { ...state, takes_a_look: true }]
  }
  if (theirs.status === "absent" || ours === "failed" || ours === "expired") return []
  const row = (kind: ReconciliationDifference["kind"], own: unknown, their: unknown) => ({
    ...differenceOf(record, kind, String(their), lineOf(theirs)),
    ours: String(own)
  })
  const fee = feeOf(record)
  return [
    ...(theirs.currency !== null && theirs.currency !== record.currency
      ? [row("currency", record.currency, theirs.currency)]
      : []),
    ...(theirs.amount !== null && theirs.amount !== principalOf(record)
      ? [row("amount", principalOf(record), theirs.amount)]
      : []),
    ...(theirs.fee !== null && fee !== null && theirs.fee !== fee ? [row("fee", fee, theirs.fee)] : [])
  ]
}

/** Whether the amount that the provider names, if it names one, is ours. */
const hasOurAmount = (record: Transaction, theirs: ProviderRecord): boolean =>
  theirs.status === "absent" ||
  ((theirs.amount === null || theirs.amount === principalOf(record)) &&
    (theirs.currency === null || theirs.currency === record.currency))

const describedRecord = (theirs: ProviderRecord): string =>
  theirs.status === "absent" || theirs.amount === null
    ? theirs.status
    : `${theirs.status} ${theirs.amount} ${theirs.currency ?? ""}`.trimEnd()

type BookedStatus = Transaction["status"] | "returned" | "reversed"

// The provider's statuses that agree with ours. A payment that failed here may never have reached the provider.
const agreeing: Readonly<Record<BookedStatus, ReadonlyArray<ProviderRecord["status"]>>> = {
  requires_action: ["pending", "absent"],
  pending: ["pending", "debited"],
  successful: ["successful", "debited", "credited"],
  returned: ["returned"],
  // Some providers use one word for failed payments and reversed ones.
  reversed: ["returned", "failed", "credited"],
  failed: ["failed", "absent"],
  expired: ["failed", "absent"]
}

const standingOf = (record: Transaction): BookedStatus => {
  if (record.kind === "payout" && record.returned !== null) return "returned"
  return record.kind === "collection" && record.reversed !== null ? "reversed" : record.status
}

/** The amount that moved by our books, without fees: for a collection the booked one, which may not be the requested one. */
const principalOf = (record: Transaction): MinorUnits => {
  if (record.kind === "payout") return record.principal
  return record.kind === "collection" && record.status === "successful" ? (record.observedAmount ?? record.amount) : record.amount
}

/** An exchange is booked without a fee, because it costs only its rate. The fee of an open payment is not known. */
const feeOf = (record: Transaction): MinorUnits | null => {
  if (record.status !== "successful") return null
  return record.kind === "exchange" ? ZERO : record.fees
}

import type { Currency } from "./Currency.ts"
import { type Instant, iso } from "./Instant.ts"
import type { MinorUnits } from "./Money.ts"
import type { Transaction, TransactionKind } from "./Transaction.ts"

/** One movement of money as the provider's own account lists it. */
export interface StatementLine {
  readonly direction: Direction
  readonly providerReference: string
  /** Ours, where the provider shows it. */
  readonly reference: string | null
  /** Without fees, in `currency`, which is the source's. */
  readonly amount: MinorUnits
  readonly currency: Currency
  /** Null where the statement does not name it. */
  readonly fee: MinorUnits | null
  /**
   * `debited`: it left the account, and the statement does not say whether it has arrived. `credited`: it came in, and what of it was taken
   * back is in rows of its own.
   */
  readonly status: "pending" | "debited" | "credited" | "successful" | "failed" | "returned"
  readonly at: Instant
  /** Of a refund that is a movement of its own: all that may be a name of its charge, ours or the provider's. Absent: it is no refund. */
  readonly refundOf?: ReadonlyArray<string>
}
type Direction = TransactionKind

/** A row of the provider's list that cannot be compared, or a whole list of its account. */
export interface UnreadableRow {
  readonly direction: null
  /** The list, the page and the row of the page where it was shown last; of a whole list its name. */
  readonly place: string
  readonly providerReference: string | null
  readonly reference: string | null
  /** Null where not even that can be read. */
  readonly at: Instant | null
  /** The unreadable value, masked; of a whole list why it cannot be read. */
  readonly word: string
}

/** The movements that an account lists for one day. */
export interface Statement {
  readonly lines: ReadonlyArray<StatementLine>
  readonly unreadable: ReadonlyArray<UnreadableRow>
  /** Those of the lines that were in one reading of their list and not in the next, to the last. */
  readonly unsteady: ReadonlyArray<StatementLine>
  /** A whole list is among the unreadable: what it would have shown is in none of the lines. */
  readonly isPart?: true
}

/** The provider's statement about one of our records; null for a member that it does not give. */
export type ProviderRecord =
  | {
      readonly status: StatementLine["status"]
      readonly amount: MinorUnits | null
      readonly currency: Currency | null
      readonly fee: MinorUnits | null
      /** Absent where it was asked for: no answer names a time. */
      readonly at?: Instant
      readonly providerReference?: string | null
    }
  | { readonly status: "absent" }

/**
 * Where their account and ours do not agree. `missing_here`: they moved money that we do not know of. `missing_there`: they know nothing of
 * what we hold to be sent. `doubled`: one reference of ours stands for several movements. `unanswered`: it could not be found out.
 * `unreadable`: a row, or a whole list, of theirs that was left out, which may be any movement. `unsteady`: a row that their list shows
 * sometimes.
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
  /** Each line of their account about it; none where it says nothing. */
  readonly lines: ReadonlyArray<TheirLine>
  /** Of a fee: the provider's reference in the row of its statement that names it; absent where an answer did. */
  readonly row?: string
  /** Of a state: their line alone is not enough for a ruling, because it has another amount or currency, or is about a refund. */
  readonly takes_a_look?: true
}

/** A row of their statement, or their answer, for programs; null for a member that it does not name. */
export interface TheirLine {
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
 * `drift_booked`: the ledger booked exactly what the provider took beyond the held fee. `in_review`: a person is ruling on the record. `pending`: we hold
 * the record to be open, and its outcome is asked for; where it stays unknown, OutcomeUnknown and OpenForADay fire.
 */
export type KnownBecause = "drift_booked" | "in_review" | "pending"

/**
 * The reason why a difference of one record needs no person; null where there is none. A review explains neither money that moved twice nor
 * a record that was not compared.
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
/** That their account has another outcome than ours, or none: neither another amount nor money that moved twice. */
const ofOutcome: ReadonlyArray<ReconciliationDifference["kind"]> = ["state", "missing_there", "unanswered"]
const unexplained: ReadonlyArray<ReconciliationDifference["kind"]> = ["doubled", "missing_here", "unreadable", "unsteady"]

/** One line of a file of rulings: the end of a record in review, as their account has it; null where it does not name the fee. */
export interface StatedRuling {
  readonly reference: string
  readonly outcome: "successful" | "failed"
  readonly fee: MinorUnits | null
  readonly currency: Currency | null
}

/**
 * Of the records in review those of which one line of their account says all that a ruling needs: that it succeeded, with its fee, or that it failed. Another
 * amount, money that moved twice or came back, and what is not over there have none: each is looked at by itself.
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
    // A figure without its currency is nobody's.
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
      at: at === null ? null : iso(at)
    }
  ]
})

export const unsteadyThere = (line: StatementLine): ReconciliationDifference => ({ ...missingHere(line, null), kind: "unsteady" })

/** `about`: a payment of ours that is another movement, and that the row names. */
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

/** Of a refund that is a movement of its own: none where it failed, was booked, or a person ruled knowing of it. */
export const refundDifferences = (record: Transaction, line: StatementLine): ReadonlyArray<ReconciliationDifference> =>
  line.status === "failed" || (record.status === "successful" && !record.needsReview)
    ? []
    : [{ ...differenceOf(record, "state", `refunded ${line.amount} ${line.currency}`, lineOf(line)), takes_a_look: true }]

/** Whether the statement leaves open what has become of it, and ours is not what it says so far: it has to be asked for. */
export const isLeftOpen = (record: Transaction, { status }: StatementLine): boolean =>
  status === "debited" && !agreeing[standingOf(record)].includes(status)

/** To the minor unit; amounts, currency and fee only of what moved. */
export const differences = (record: Transaction, theirs: ProviderRecord): ReadonlyArray<ReconciliationDifference> => {
  const ours = standingOf(record)
  if (!agreeing[ours].includes(theirs.status)) {
    const kind = theirs.status === "absent" ? "missing_there" : "state"
    const state = differenceOf(record, kind, describedRecord(theirs), lineOf(theirs))
    return [hasOurAmount(record, theirs) ? state : { ...state, takes_a_look: true }]
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

/** Whether the amount that they name, if they name one, is ours. */
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
  // Some providers have one word for what failed and what was taken back.
  reversed: ["returned", "failed", "credited"],
  failed: ["failed", "absent"],
  expired: ["failed", "absent"]
}

const standingOf = (record: Transaction): BookedStatus => {
  if (record.kind === "payout" && record.returned !== null) return "returned"
  return record.kind === "collection" && record.reversed !== null ? "reversed" : record.status
}

/**
 * The amount that our books say moved, without fees. For a collection it is the booked amount, which a person may have found to differ from
 * the requested one.
 */
const principalOf = (record: Transaction): MinorUnits => {
  if (record.kind === "payout") return record.principal
  return record.kind === "collection" && record.status === "successful" ? (record.observedAmount ?? record.amount) : record.amount
}

/** An exchange costs its rate only, and the fee of what is still open is not known. */
const feeOf = (record: Transaction): MinorUnits | null =>
  record.kind === "exchange" || record.status !== "successful" ? null : record.fees

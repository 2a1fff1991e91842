import { createHash } from "node:crypto"
import { Clock, Context, Effect, Option } from "effect"
import { iso } from "../../domain/Instant.ts"
import { type Posting, sumPosted } from "../../domain/Ledger.ts"
import { isTerminal } from "../../domain/Payment.ts"
import { reviewedAt } from "../../domain/PollSchedule.ts"
import { type Resolution, resolvedCurrency, rulingOn } from "../../domain/Resolution.ts"
import { type FileRow, readRulingFile } from "../../domain/RulingFile.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditBy } from "../ports/AuditLog.ts"
import { type StoredTransaction, Transactions } from "../ports/Transactions.ts"
import { Review, rulingDetails, wasRuledSo } from "./Review.ts"

/** A row on which a ruling can be made. */
export interface RulableRow extends FileRow {
  readonly record: Transaction
  /** The revision that was read: when the record has changed since, no ruling is made. */
  readonly seen: bigint
  readonly postings: ReadonlyArray<Posting>
}

/** A row on which no ruling is made, and why. */
export interface LeftRow {
  readonly line: number
  readonly reference: string
  readonly why: string
  /** An operator has already ruled as the row says. */
  readonly isDone: boolean
}

export interface JudgedFile {
  /** SHA-256 of its bytes, in hex: its name in the audit log. */
  readonly digest: string
  readonly ready: ReadonlyArray<RulableRow>
  readonly left: ReadonlyArray<LeftRow>
}

export interface RuledFile {
  readonly ruled: ReadonlyArray<FileRow>
  readonly left: ReadonlyArray<LeftRow>
}

/** Makes one ruling; none when the proposal is no longer approved. */
export type Commit = <A>(ruling: Effect.Effect<A>) => Effect.Effect<Option.Option<A>>

/** How many rows are read or ruled on at a time. */
const AT_ONCE = 4

/** Rules on many records at once, from one file of evidence (contract REV-10). `Review` makes each ruling in its own commit. */
export class RulingFiles extends Context.Service<
  RulingFiles,
  {
    /** Reads only. Returns one line that says why the text is not a file of evidence, if so. */
    readonly judge: (text: string) => Effect.Effect<JudgedFile | string>
    /** The rows with their present records. A row whose record is at another revision than was seen is left out. */
    readonly judgeRows: (
      rows: ReadonlyArray<FileRow & { readonly seen: bigint | null }>
    ) => Effect.Effect<Pick<JudgedFile, "ready" | "left">>
    /**
     * Rules on each ready row, with an audit row that names the file and the line, and returns what was ruled and what was
     * left. Repeating it, or continuing after an interruption, rules on nothing twice: a record that was ruled on is no longer in
     * review, and a later case of it is left. `commit` makes each ruling, one after the other, and returns none once they are no
     * longer approved.
     */
    readonly rule: (file: JudgedFile, evidence: string, by: AuditBy, commit?: Commit) => Effect.Effect<RuledFile>
  }
>()("gateway/services/RulingFiles") {
  static readonly layer = layerOf(RulingFiles)(function* () {
    const transactions = yield* Transactions
    const review = yield* Review

    const judged = Effect.fnUntraced(function* (row: FileRow & { readonly seen: bigint | null }) {
      const found = yield* transactions.byReference(row.reference)
      if (Option.isNone(found)) return left(row, "there is no such transaction")
      const record = found.value.transaction
      // A ruling on a successful record books only the difference to what is booked.
      const entries = record.status === "successful" ? yield* transactions.entries(record.reference) : []
      const drift = sumPosted(entries, "drift")
      if (isRuledSo(record, row)) {
        const other = otherFigures(record, row, drift)
        return { ...left(row, other ?? "a person has ruled so already"), isDone: other === null }
      }
      const why = whyNot(found.value, row)
      if (why !== null) return left(row, why)
      const resolution = resolutionOf(row, "")
      if (wasRuledSo(yield* transactions.history(record.reference), resolution)) return left(row, reopened)
      const at = yield* Clock.currentTimeMillis
      const ruling = rulingOn(record, resolution, at, drift)
      if (typeof ruling === "string") return left(row, ruling)
      return { ...row, record, seen: found.value.revision, postings: ruling.entry?.postings ?? [] } satisfies RulableRow
    })

    const judgeRows = Effect.fn("RulingFiles.judgeRows")(function* (
      rows: ReadonlyArray<FileRow & { readonly seen: bigint | null }>
    ) {
      return inTwo(yield* Effect.forEach(rows, judged, { concurrency: AT_ONCE }))
    })

    return {
      judgeRows,

      judge: Effect.fn("RulingFiles.judge")(function* (text): Effect.fn.Return<JudgedFile | string> {
        const file = readRulingFile(text)
        if (typeof file === "string") return file
        const { left: notRulable, ready } = yield* judgeRows(file.rows.map((row) => ({ ...row, seen: null })))
        return {
          digest: digestOf(text),
          ready,
          left: inOrder([...file.bad.map((row) => ({ ...row, isDone: false })), ...notRulable])
        }
      }),

      rule: Effect.fn("RulingFiles.rule")(function* ({ digest, left: before, ready }, evidence, by, commit?) {
        const ends = yield* Effect.forEach(
          ready,
          (row) => {
            const resolution = resolutionOf(row, `${evidence}; line ${row.line} of the file ${shortOf(digest)}`)
            const details = { ...by.details, ...rulingDetails(resolution), file: digest, line: String(row.line) }
            const audit = { at: by.at, actor: by.actor, action: "review resolve", subject: row.reference, details }
            const ruling = review.resolve(row.reference, resolution, audit, row.seen).pipe(
              Effect.as<RulableRow | LeftRow>(row),
              Effect.catchTag("NotResolved", ({ message }) => Effect.succeed(left(row, message)))
            )
            if (commit === undefined) return ruling
            return Effect.map(commit(ruling), (end) => Option.getOrElse(end, () => left(row, "its approval had ended by then")))
          },
          { concurrency: commit === undefined ? AT_ONCE : 1 }
        )
        const { left: refused, ready: ruled } = inTwo(ends)
        yield* Effect.annotateLogs(Effect.logInfo("a file of rulings was booked"), { file: digest, count: ruled.length })
        return { ruled, left: inOrder([...before, ...refused]) }
      })
    }
  })
}

export const digestOf = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex")

/** The form that is shown to people. */
export const shortOf = (digest: string): string => digest.slice(0, SHORT_DIGEST)
const SHORT_DIGEST = 12

const left = (row: Pick<FileRow, "line" | "reference">, why: string): LeftRow => ({
  line: row.line,
  reference: row.reference,
  why,
  isDone: false
})

const resolutionOf = ({ amount, fee, outcome }: FileRow, evidence: string): Resolution => ({ outcome, amount, fee, evidence })

/** The evidence of the earlier ruling does not cover what has opened the record again, such as a dispute. */
const reopened = "a person ruled so before, and something new has opened it again: look at it by itself"

const isRuledSo = ({ needsReview, ruling }: Transaction, { outcome }: FileRow): boolean =>
  !needsReview && ruling?.outcome === outcome

/** Why the booking of a row that was already ruled on differs from the row; null when it agrees. */
const otherFigures = (record: Transaction, { amount, currency, fee }: FileRow, drift: bigint): string | null => {
  if (currency !== null && currency !== (amount === null ? record.currency : resolvedCurrency(record)))
    return "a person has ruled so already, in another currency"
  if (amount !== null && amount !== bookedAmount(record)) return `a person has ruled so already, with ${bookedAmount(record)}`
  if (fee === null) return null
  const booked = bookedFee(record, drift)
  return booked === fee
    ? null
    : `a person has ruled so already, and the fee of ${fee} is not what is booked: look at it by itself`
}

const bookedAmount = (record: Transaction): bigint => {
  if (record.kind === "payout") return record.principal
  return record.kind === "exchange" ? record.destinationAmount : (record.observedAmount ?? record.amount)
}

/** Including what was booked beyond the reserved fee; null when it consists of several figures because money came back. */
const bookedFee = (record: Transaction, drift: bigint): bigint | null => {
  if (record.kind === "exchange") return null
  const isBack = record.kind === "payout" ? record.returned !== null : record.reversed !== null
  return isBack ? null : (record.fees ?? 0n) + drift
}

/** Why no ruling can be made on a row, before its figures are checked; null when nothing prevents it. */
const whyNot = (
  { revision, transaction: record }: StoredTransaction,
  row: FileRow & { readonly seen: bigint | null }
): string | null => {
  if (!record.needsReview)
    return isTerminal(record)
      ? `it is final: ${record.status}, and no review of it is open`
      : `no review of it is open: its provider is asked until ${iso(reviewedAt(record))}, and at once by asking again`
  if (row.seen !== null && row.seen !== revision) return "it has changed since the file was looked at"
  const expected = row.amount === null ? record.currency : resolvedCurrency(record)
  return row.currency === null || row.currency === expected ? null : `its currency is ${expected}, and not ${row.currency}`
}

const inOrder = (rows: ReadonlyArray<LeftRow>): ReadonlyArray<LeftRow> => rows.toSorted((one, other) => one.line - other.line)

const inTwo = <Row extends FileRow>(rows: ReadonlyArray<Row | LeftRow>) => ({
  ready: rows.flatMap((row) => ("why" in row ? [] : [row])),
  left: rows.flatMap((row) => ("why" in row ? [row] : []))
})

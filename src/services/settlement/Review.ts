import { Clock, Context, Effect, Option } from "effect"
import { encodeEvent, tellingOf } from "../../domain/Event.ts"
import type { Reference } from "../../domain/Ids.ts"
import { sumPosted } from "../../domain/Ledger.ts"
import { maskedText } from "../../domain/Masking.ts"
import { momentAfter } from "../../domain/MoveTable.ts"
import { isTerminal } from "../../domain/Payment.ts"
import { nextPoll } from "../../domain/PollSchedule.ts"
import { broughtIn } from "../../domain/Refund.ts"
import { type Resolution, rulingOn } from "../../domain/Resolution.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { recordView, type Shown } from "../../domain/View.ts"
import { MessageError } from "../../runtime/MessageError.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditEntry } from "../ports/AuditLog.ts"
import { type ApplyStep, FloatLedger, type HistoryLine } from "../ports/FloatLedger.ts"
import { Policy } from "../ports/Policy.ts"
import { RandomSource } from "../ports/RandomSource.ts"
import { type RawCall, type StoredTransaction, Transactions } from "../ports/Transactions.ts"
import { withItsRefunds } from "./ShownRecords.ts"

/** Each further decision means that a fact changed the same record between our read and our commit. */
const DECISIONS_AT_MOST = 16

/** A record in review, its whole history, and the last call for it, masked. */
export interface Case {
  readonly record: Shown<Transaction>
  /** Increases with every stored fact. */
  readonly revision: bigint
  readonly history: ReadonlyArray<HistoryLine>
  readonly call: RawCall
}

/** Why no resolution was made: one line for the operator. Nothing was written. */
export class NotResolved extends MessageError("NotResolved") {}

/** Records whose outcome only a person can establish (contract REV-1 to REV-5). */
export class Review extends Context.Service<
  Review,
  {
    /** At most `limit` open cases, oldest first. For each case the read of its call is audited, with `reading`. */
    readonly cases: (limit: number, reading: Omit<AuditEntry, "subject">) => Effect.Effect<ReadonlyArray<Case>>
    /**
     * Ends an open case: status, ledger entry, history line, event and audit row are one commit. Returns the record after it.
     * Refused when no case is open, which makes a repetition harmless, and when the record is no longer at the revision that
     * the person saw. A fact from during the case that contradicts the ruling opens a new case when repeated.
     */
    readonly resolve: (
      reference: Reference,
      resolution: Resolution,
      audit: AuditEntry,
      seen?: bigint | null
    ) => Effect.Effect<Transaction, NotResolved>
  }
>()("gateway/services/Review") {
  static readonly layer = layerOf(Review)(function* () {
    const transactions = yield* Transactions
    const ledger = yield* FloatLedger
    const shown = withItsRefunds(transactions)
    const randomSource = yield* RandomSource
    const policy = yield* Policy

    const stepOf = Effect.fnUntraced(function* ({ revision, transaction }: StoredTransaction, resolution: Resolution) {
      const now = yield* Clock.currentTimeMillis
      const at = momentAfter(transaction, now)
      const entries = namesSettledFee(transaction, resolution) ? yield* transactions.entries(transaction.reference) : []
      const ruling = rulingOn(transaction, resolution, at, sumPosted(entries, "drift"))
      if (typeof ruling === "string") return yield* new NotResolved(ruling)
      const { entry, event: named, next } = ruling
      const type = tellingOf(transaction, next, named)
      const { appId, mode, reference, status } = next
      const event =
        type === null
          ? null
          : encodeEvent({ id: yield* randomSource.reference, appId, mode, type, reference, at }, recordView(yield* shown(next)))
      return {
        expectedRevision: revision,
        before: transaction,
        next,
        entry,
        line: { at, actor: "review", fact: "Resolved", note: noteOf(resolution), status },
        event,
        nextPollAt: nextPoll(next, policy.pollSchedule, now),
        response: null,
        savesBeneficiary: false,
        // Only a release restores limits: a returned payout had been sent, and a failed one has been given back already.
        restoreLimits: next.kind === "payout" && entry?.phase === "release",
        countsAgain: next.kind === "payout" && transaction.status === "failed" && next.status === "successful",
        wipeDestination: isTerminal(next),
        raw: null
      } satisfies ApplyStep
    })

    /** A ruling books what happened, even refunds beyond a collection's yield; the operator is then alerted (contract PAY-47). */
    const reportOverRefund = Effect.fnUntraced(function* (ruled: Transaction) {
      const { appId, mode } = ruled
      const collection = ruled.kind === "payout" ? ruled.refundOf : ruled.kind === "collection" ? ruled.reference : undefined
      if (collection === undefined) return
      const found = yield* transactions.refundable(appId, mode, collection)
      if (Option.isNone(found) || found.value.refunded <= broughtIn(found.value.collection)) return
      yield* Effect.logError("a collection was refunded by more than it brought").pipe(
        Effect.annotateLogs({ reference: collection, refunded_minor: found.value.refunded.toString(), app_id: appId })
      )
    })

    return {
      cases: Effect.fn("Review.cases")(function* (limit, reading) {
        const open = yield* transactions.inReview(limit)
        return yield* Effect.forEach(
          open,
          Effect.fnUntraced(function* ({ revision, transaction: record }): Effect.fn.Return<Case> {
            const { reference } = record
            const history = yield* transactions.history(reference)
            const call = yield* transactions.lastCall(reference, { ...reading, subject: reference })
            return { record: yield* shown(record), revision, history, call: Option.getOrElse(call, () => noCall) }
          })
        )
      }),

      resolve: Effect.fn("Review.resolve")(function* (reference, resolution, audit, seen: bigint | null = null) {
        let lastSeen: Transaction | null = null
        for (let decisions = 0; decisions < DECISIONS_AT_MOST; decisions++) {
          const stored = yield* transactions.byReference(reference)
          if (Option.isNone(stored)) return yield* new NotResolved(`there is no transaction ${reference}`)
          if (!stored.value.transaction.needsReview) return yield* new NotResolved(`no review of ${reference} is open`)
          const { revision, transaction } = stored.value
          if ((seen !== null && revision !== seen) || (lastSeen !== null && !isSameCase(lastSeen, transaction)))
            return yield* new NotResolved(changedSince(reference, revision))
          lastSeen = transaction
          const step = yield* stepOf(stored.value, resolution)
          const result = yield* ledger.resolve(step, audit)
          if (result._tag === "FullFloat")
            return yield* new NotResolved("the float cannot hold that much: its largest amount is 9007199254740991")
          if (result._tag !== "Applied") continue
          yield* reportOverRefund(step.next)
          return yield* shown(step.next)
        }
        return yield* Effect.die(new Error(`the transaction ${reference} kept moving`))
      })
    }
  })
}

/** In that case the provider's charge beyond the reserved fee may be booked already. Another amount may have a known fee. */
const namesSettledFee = (record: Transaction, { amount, fee }: Resolution): boolean =>
  record.kind === "payout" && record.status === "successful" && (fee !== null || amount !== null)

const changedSince = (reference: Reference, revision: bigint): string =>
  `the provider said something of ${reference} since: it is at revision ${revision} now; look at it again before you rule`

/** New facts on the same case do not invalidate the ruling; a different case does. */
const isSameCase = (one: Transaction, other: Transaction): boolean =>
  one.status === other.status && openedWith(one) === openedWith(other)

const openedWith = ({ ruling, saidAtOpening }: Transaction): string => JSON.stringify([saidAtOpening, ruling])

const noCall: RawCall = { rawRequest: null, rawResponse: null }

/** The ruling as in its audit row and its proposal. */
export const rulingDetails = ({ amount, evidence, fee, outcome }: Resolution): AuditEntry["details"] => ({
  outcome,
  evidence: maskedText(evidence),
  ...(amount === null ? {} : { amount_minor: amount.toString() }),
  ...(fee === null ? {} : { fee_minor: fee.toString() })
})

/** Whether a person has already ruled with this outcome and these figures, whatever has happened since. */
export const wasRuledSo = (history: ReadonlyArray<HistoryLine>, resolution: Resolution): boolean => {
  const found = noteOf({ ...resolution, evidence: "" })
  return history.some(({ actor, note }) => actor === "review" && note.startsWith(found))
}

/** A history contains no person's number. */
const noteOf = ({ amount, evidence, fee, outcome }: Resolution): string =>
  [outcome, ...(amount === null ? [] : [`amount ${amount}`]), ...(fee === null ? [] : [`fee ${fee}`]), maskedText(evidence)].join(
    "; "
  )

import { Context, Data, Effect, Layer, Option, Schema } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import { isReference, type Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { maskedText } from "../../domain/Masking.ts"
import { MinorUnits } from "../../domain/Money.ts"
import { consoleActor, type OperatorName } from "../../domain/Operator.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import { type Resolution, resolvedCurrency, rulingOn } from "../../domain/Resolution.ts"
import type { HistoryLine } from "../ports/FloatLedger.ts"
import { Proposals } from "../ports/Proposals.ts"
import { RandomSource } from "../ports/RandomSource.ts"
import { Transactions } from "../ports/Transactions.ts"
import { type NotResolved, Review } from "../settlement/Review.ts"

/** From this amount on, in minor units, a ruling needs two people. */
export type ApprovalAmounts = Readonly<Record<Currency, MinorUnits>>

/** So many of the newest lines of a record's history are told where an approval fails. */
const NEWS_SHOWN = 5

/** Who does it, and when. */
export interface Acting {
  readonly by: OperatorName
  readonly at: Instant
}

interface Wish {
  readonly reference: Reference
  readonly resolution: Resolution
  /** The revision that the person looked at. */
  readonly seen: bigint
}

/** Why nothing was decided: one line for the person. */
export class NotDecided extends Data.TaggedError("NotDecided")<{ readonly message: string }> {}

/** Rulings of the console: by one person below an amount, proposed by one and approved by another from it on. `Review` makes all of them. */
export class ReviewDesk extends Context.Service<
  ReviewDesk,
  {
    /** Whether a ruling on this record needs a second person. */
    readonly needsTwo: (record: LedgerRecord, resolution: Resolution | null) => boolean
    /** Rules at once, or opens a proposal that waits for another person. */
    readonly rule: (wish: Wish, acting: Acting) => Effect.Effect<"resolved" | "proposed", NotResolved | NotDecided>
    /**
     * Carries out what somebody else proposed, exactly as it was written down. A record that changed since is not ruled on: the proposal has
     * failed then, and says what changed. Whatever was approved and not finished, because a process died, is carried out by repeating it.
     */
    readonly approve: (id: Reference, acting: Acting) => Effect.Effect<void, NotDecided>
    /** Ends a proposal that nothing came of; its own proposer withdraws it, anybody else rejects it. */
    readonly dismiss: (id: Reference, acting: Acting, note: string) => Effect.Effect<void, NotDecided>
  }
>()("gateway/services/console/ReviewDesk") {
  static readonly layer = (amounts: ApprovalAmounts) =>
    Layer.effect(
      ReviewDesk,
      Effect.gen(function* () {
        const review = yield* Review
        const proposals = yield* Proposals
        const transactions = yield* Transactions
        const randomSource = yield* RandomSource

        const needsTwo = (record: LedgerRecord, resolution: Resolution | null): boolean =>
          sumsOf(record, resolution).some(({ amount, currency }) => (amount < 0n ? -amount : amount) >= amounts[currency])

        const rule = Effect.fn("ReviewDesk.rule")(function* ({ reference, resolution, seen }: Wish, { at, by }: Acting) {
          const found = yield* transactions.byReference(reference)
          if (Option.isNone(found)) return yield* new NotDecided({ message: `There is no transaction ${reference}.` })
          const ruling = rulingOn(found.value.transaction, resolution, at)
          if (typeof ruling === "string") return yield* new NotDecided({ message: ruling })
          const details = detailsOf(resolution)
          const audit = { at, actor: consoleActor(by), subject: reference }
          if (!needsTwo(found.value.transaction, resolution)) {
            yield* review.resolve(reference, resolution, { ...audit, action: "review resolve", details }, seen)
            return "resolved"
          }
          const proposal = { kind: "review resolve", subject: reference, proposedBy: by, proposedAt: at } as const
          const opened = yield* proposals.open(
            {
              ...proposal,
              id: yield* randomSource.reference,
              details: { ...shownOf(found.value.transaction, details), seen: seen.toString() }
            },
            { ...audit, action: "review propose", details }
          )
          if (!opened) return yield* new NotDecided({ message: "A ruling on it waits already for a second person." })
          return "proposed"
        })

        /** The ruling's audit row names the proposal: whoever repeats this finds out whether the ruling was committed. */
        const carryOut = Effect.fnUntraced(function* (proposal: Proposal, { at, by }: Acting) {
          const { reference, resolution, seen } = yield* wishOf(proposal)
          const audit = { at, actor: consoleActor(by), details: peopleOf(proposal) }
          const details = { ...detailsOf(resolution), ...audit.details, proposal: proposal.id }
          const failed = Effect.fnUntraced(function* (message: string) {
            if (yield* proposals.isCarriedOut(proposal)) return
            const why = `${message}${newsSince(yield* transactions.history(reference), proposal.proposedAt)}`
            const entry = { ...audit, action: "proposal fail", subject: proposal.id, details: { ...audit.details, why } }
            yield* proposals.fail(proposal.id, why, entry)
            return yield* new NotDecided({ message: why })
          })
          yield* review
            .resolve(reference, resolution, { ...audit, action: proposal.kind, subject: reference, details }, seen)
            .pipe(Effect.catchTag("NotResolved", ({ message }) => failed(message)))
          yield* proposals.finish(proposal.id)
        })

        const approve = Effect.fn("ReviewDesk.approve")(function* (id: Reference, { at, by }: Acting) {
          const found = yield* proposals.find(id)
          if (Option.isNone(found) || found.value.proposedBy === by) return yield* new NotDecided({ message: notYours })
          if (found.value.status === "approved") return yield* carryOut(found.value, { at, by })
          const audit = { at, actor: consoleActor(by), action: "proposal approve", subject: id, details: peopleOf(found.value) }
          const approved = yield* proposals.decide({ id, status: "approved", by, at, note: "" }, audit)
          if (Option.isNone(approved)) return yield* new NotDecided({ message: notYours })
          yield* carryOut(approved.value, { at, by })
          // Whoever closes the page interrupts nothing between the commits.
        }, Effect.uninterruptible)

        const dismiss = Effect.fn("ReviewDesk.dismiss")(function* (id: Reference, { at, by }: Acting, note: string) {
          const found = yield* proposals.find(id)
          if (Option.isNone(found)) return yield* new NotDecided({ message: notYours })
          const isOwn = found.value.proposedBy === by
          const status = isOwn ? "withdrawn" : "rejected"
          const audit = { at, actor: consoleActor(by), action: `proposal ${isOwn ? "withdraw" : "reject"}`, subject: id }
          const details = { ...peopleOf(found.value), note }
          const decided = yield* proposals.decide({ id, status, by, at, note }, { ...audit, details })
          if (Option.isNone(decided)) return yield* new NotDecided({ message: notYours })
        })

        return ReviewDesk.of({ needsTwo, rule, approve, dismiss })
      })
    )
}

const notYours = "It is decided already, or it is your own: somebody else has to approve it."

/** The transaction and the people behind it, for every audit row of a proposal; its actor is the one who did that. */
const peopleOf = ({ decidedBy, proposedBy, subject }: Proposal): Readonly<Record<string, string>> => ({
  transaction: subject,
  proposed_by: proposedBy,
  ...(decidedBy === null ? {} : { approved_by: decidedBy })
})

const newsSince = (history: ReadonlyArray<HistoryLine>, since: Instant): string => {
  const news = history.filter(({ at }) => at >= since).slice(-NEWS_SHOWN)
  const told = news.map(
    ({ actor, fact, note, status }) => `${actor} said ${fact}, now ${status}${note === "" ? "" : ` (${maskedText(note)})`}`
  )
  return told.length === 0 ? "" : `. Since it was proposed: ${told.join("; ")}`
}

interface Sum {
  readonly amount: bigint
  readonly currency: Currency
}

/** What was asked for, and every line that this ruling, or either outcome without another word, would post: so one case has one answer until somebody says more. */
const sumsOf = (record: LedgerRecord, resolution: Resolution | null): ReadonlyArray<Sum> => [
  { amount: record.amount, currency: record.kind === "exchange" ? record.currency : record.amountCurrency },
  ...[plain("successful"), plain("failed"), ...(resolution === null ? [] : [resolution])].flatMap((one) => postedBy(record, one))
]

const plain = (outcome: Resolution["outcome"]): Resolution => ({ outcome, amount: null, fee: null, evidence: "" })

/** Nothing where the ruling cannot be made. */
const postedBy = (record: LedgerRecord, resolution: Resolution): ReadonlyArray<Sum> => {
  const ruling = rulingOn(record, resolution, record.updatedAt)
  return typeof ruling === "string" ? [] : (ruling.entry?.postings ?? [])
}

const detailsOf = ({ amount, evidence, fee, outcome }: Resolution): Readonly<Record<string, string>> => ({
  outcome,
  evidence: maskedText(evidence),
  ...(amount === null ? {} : { amount_minor: amount.toString() }),
  ...(fee === null ? {} : { fee_minor: fee.toString() })
})

/** The second person sees each amount with its currency, and what the tenant asked for. */
const shownOf = (record: LedgerRecord, details: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  asked_minor: record.amount.toString(),
  asked_currency: record.kind === "exchange" ? record.currency : record.amountCurrency,
  ...details,
  ...("amount_minor" in details ? { amount_currency: resolvedCurrency(record) } : {}),
  ...("fee_minor" in details ? { fee_currency: record.currency } : {})
})

const Amount = Schema.BigIntFromString.pipe(Schema.decodeTo(Schema.toType(MinorUnits)))
const decodeDetails = Schema.decodeUnknownEffect(
  Schema.Struct({
    outcome: Schema.Literals(["successful", "failed"]),
    evidence: Schema.String,
    amount_minor: Schema.optionalKey(Amount),
    fee_minor: Schema.optionalKey(Amount),
    seen: Schema.BigIntFromString
  })
)

/** What was proposed, as it was written down. */
const wishOf = ({ details, subject }: Proposal): Effect.Effect<Wish> =>
  Effect.matchEffect(decodeDetails(details), {
    onFailure: (error) => Effect.die(error),
    onSuccess: ({ amount_minor: amount = null, evidence, fee_minor: fee = null, outcome, seen }) =>
      isReference(subject)
        ? Effect.succeed({ reference: subject, resolution: { outcome, evidence, amount, fee }, seen })
        : Effect.die(new Error("a proposal to rule is about no transaction"))
  })

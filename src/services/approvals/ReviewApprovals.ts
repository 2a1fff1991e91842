import { Context, Effect, Option, Schema } from "effect"
import { type ApprovalAmounts, needsTwo } from "../../domain/ApprovalAmounts.ts"
import { isReference, type Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { maskedText } from "../../domain/Masking.ts"
import { MinorUnits } from "../../domain/Money.ts"
import { consoleActor } from "../../domain/Operator.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import { type Resolution, resolvedCurrency, rulingOn } from "../../domain/Resolution.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditBy } from "../ports/AuditLog.ts"
import type { HistoryLine } from "../ports/FloatLedger.ts"
import { NotCarriedOut } from "../ports/Proposals.ts"
import { Transactions } from "../ports/Transactions.ts"
import { type NotResolved, Review, rulingDetails } from "../settlement/Review.ts"
import { type Acting, makeProposing, NotDecided, writtenIn } from "./Deciding.ts"

/** How many of the newest history lines are shown when an approval fails. */
const NEWS_SHOWN = 5

const CHANGED = "It has changed since you looked at it: nothing was done. Look at it as it is now."

interface Wish {
  readonly reference: Reference
  readonly resolution: Resolution
  /** The revision that the person saw. */
  readonly seen: bigint
}

/** Rulings from the console: small amounts by one person, others by two (`Approvals`). `Review` makes all of them. */
export class ReviewApprovals extends Context.Service<
  ReviewApprovals,
  {
    /** Whether a ruling on this record needs a second person. */
    readonly needsTwo: (record: Transaction, resolution: Resolution | null) => boolean
    /** Rules at once, or opens a proposal for another person. */
    readonly rule: (wish: Wish, acting: Acting) => Effect.Effect<"resolved" | "proposed", NotResolved | NotDecided>
    /** Makes exactly the proposed ruling. Refused for a record that has changed since, with a reason that says what changed. */
    readonly carryOut: (proposal: Proposal, by: AuditBy) => Effect.Effect<void, NotCarriedOut>
  }
>()("gateway/services/approvals/ReviewApprovals") {
  static readonly layer = (amounts: ApprovalAmounts) =>
    layerOf(ReviewApprovals)(function* () {
      const review = yield* Review
      const transactions = yield* Transactions
      const propose = yield* makeProposing

      const rule = Effect.fn("ReviewApprovals.rule")(function* ({ reference, resolution, seen }: Wish, acting: Acting) {
        const { at, by } = acting
        const found = yield* transactions.byReference(reference)
        if (Option.isNone(found)) return yield* new NotDecided(`There is no transaction ${reference}.`)
        // A form may name a revision that the record has not reached yet: by then the ruling could need a second person.
        if (found.value.revision !== seen) return yield* new NotDecided(CHANGED)
        const ruling = rulingOn(found.value.transaction, resolution, at)
        if (typeof ruling === "string") return yield* new NotDecided(ruling)
        const details = rulingDetails(resolution)
        if (!needsTwo(amounts, found.value.transaction, resolution)) {
          const audit = { at, actor: consoleActor(by), action: "review resolve", subject: reference, details }
          yield* review.resolve(reference, resolution, audit, seen)
          return "resolved"
        }
        yield* propose(
          {
            kind: "review resolve",
            subject: reference,
            details: { ...shownOf(found.value.transaction, details), seen: seen.toString() },
            audit: { action: "review propose", details },
            waitsAlready: "A ruling on it waits already for a second person."
          },
          acting
        )
        return "proposed"
      })

      const carryOut = Effect.fn("ReviewApprovals.carryOut")(function* (proposal: Proposal, { actor, at, details }: AuditBy) {
        const { reference, resolution, seen } = yield* wishOf(proposal)
        const audit = { at, actor, action: proposal.kind, subject: reference }
        yield* review
          .resolve(reference, resolution, { ...audit, details: { ...rulingDetails(resolution), ...details } }, seen)
          .pipe(
            Effect.catchTag("NotResolved", ({ message }) =>
              Effect.flatMap(transactions.history(reference), (history) =>
                Effect.fail(new NotCarriedOut(`${message}${newsSince(history, proposal.proposedAt)}`))
              )
            )
          )
      })

      return { needsTwo: (record, resolution) => needsTwo(amounts, record, resolution), rule, carryOut }
    })
}

const newsSince = (history: ReadonlyArray<HistoryLine>, since: Instant): string => {
  const news = history.filter(({ at }) => at >= since).slice(-NEWS_SHOWN)
  const lines = news.map(
    ({ actor, fact, note, status }) => `${actor} said ${fact}, now ${status}${note === "" ? "" : ` (${maskedText(note)})`}`
  )
  return lines.length === 0 ? "" : `. Since it was proposed: ${lines.join("; ")}`
}

/** Shows the second person each amount with its currency, and the tenant's requested amount. */
const shownOf = (record: Transaction, details: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  asked_minor: record.amount.toString(),
  asked_currency: record.kind === "exchange" ? record.currency : record.amountCurrency,
  ...details,
  ...("amount_minor" in details ? { amount_currency: resolvedCurrency(record) } : {}),
  ...("fee_minor" in details ? { fee_currency: record.currency } : {})
})

const Amount = Schema.BigIntFromString.pipe(Schema.decodeTo(Schema.toType(MinorUnits)))
const decodeDetails = writtenIn(
  Schema.Struct({
    outcome: Schema.Literals(["successful", "failed"]),
    evidence: Schema.String,
    amount_minor: Schema.optionalKey(Amount),
    fee_minor: Schema.optionalKey(Amount),
    seen: Schema.BigIntFromString
  })
)

const wishOf = ({ details, subject }: Proposal): Effect.Effect<Wish> =>
  Effect.flatMap(decodeDetails(details), ({ amount_minor: amount = null, evidence, fee_minor: fee = null, outcome, seen }) =>
    isReference(subject)
      ? Effect.succeed({ reference: subject, resolution: { outcome, evidence, amount, fee }, seen })
      : Effect.die(new Error("a proposal to rule is about no transaction"))
  )

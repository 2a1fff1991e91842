import { Clock, Context, Effect, Option } from "effect"
import { type ApprovalAmounts, needsTwo } from "../../domain/ApprovalAmounts.ts"
import { isOpenedBy, reportOf } from "../../domain/Contradiction.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { Fact } from "../../domain/Fact.ts"
import { isReference, type Mode } from "../../domain/Ids.ts"
import { type Entry, sumPosted } from "../../domain/Ledger.ts"
import { minor } from "../../domain/Money.ts"
import { type Resolution, rulingOn } from "../../domain/Resolution.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditBy } from "../ports/AuditLog.ts"
import { Transactions } from "../ports/Transactions.ts"
import type { ModeDifference, ReconciliationReport } from "./Reconciliation.ts"
import { Review } from "./Review.ts"
import { Settlement } from "./Settlement.ts"

/** A record whose booked fee differs from the fee in its provider's statement. */
export interface FeeDifference {
  readonly reference: string
  readonly kind: "payout" | "collection"
  readonly mode: Mode
  readonly currency: Currency
  readonly bookedFee: bigint
  readonly realFee: bigint
  /** How booking it changes the tenant's float; negative when the provider took more. */
  readonly floatEffect: bigint
  /** The gateway's share of the effect: the charge beyond the reserved fee. */
  readonly driftEffect: bigint
  readonly takesTwo: boolean
  readonly evidence: string
}

/** A fee difference that is not booked here, and why: one line for the operator. */
interface FeeLeft {
  readonly reference: string
  readonly why: string
}

interface FeePlan {
  readonly booked: ReadonlyArray<FeeDifference>
  readonly left: ReadonlyArray<FeeLeft>
}

/** Books the fees in a provider's statement where others are booked (contract FEE-8). */
export class FeeBooking extends Context.Service<
  FeeBooking,
  {
    /** Reads only. `booked`: what `book` would book. */
    readonly plan: (report: ReconciliationReport) => Effect.Effect<FeePlan>
    /**
     * Opens a review of each record of the plan, with the statement's row, and makes the rulings that one person may make: what
     * needs two people is left in review, unless `alone` says that there is no second person. Each fee is booked once, however
     * often this is called and wherever it is interrupted: the next plan contains what is missing. Returns what was booked, and
     * what was not.
     */
    readonly book: (plan: FeePlan, by: AuditBy, alone: boolean) => Effect.Effect<FeePlan>
  }
>()("gateway/services/FeeBooking") {
  static readonly layer = (amounts: ApprovalAmounts) =>
    layerOf(FeeBooking)(function* () {
      const transactions = yield* Transactions
      const settlement = yield* Settlement
      const review = yield* Review

      const planned = Effect.fnUntraced(function* (
        difference: ModeDifference,
        { day, differences, known, provider }: ReconciliationReport
      ) {
        const left = (why: string): FeeLeft => ({ reference: difference.reference ?? "", why })
        const stored = yield* find(difference.reference)
        if (Option.isNone(stored) || difference.row === undefined || difference.theirs === null) return left(noRow)
        const rest = [...differences, ...known].filter((one) => one !== difference && isAbout(one, difference))
        if (rest.length > 0) return left(`the statement differs in more than the fee: ${rest.map(({ kind }) => kind).join(", ")}`)
        const record = stored.value.transaction
        if (record.kind === "exchange") return left(noFee)
        const fee = minor(BigInt(difference.theirs))
        const evidence = `statement of ${provider} of ${day}, row ${difference.row}: fee ${fee} ${record.currency}`
        const why = whyNot(record, statedIn({ evidence, realFee: fee }))
        if (why !== null) return left(why)
        const ruling = yield* rulingFor(record, resolutionOf({ evidence, realFee: fee }))
        if (typeof ruling === "string") return left(ruling)
        return {
          reference: record.reference,
          kind: record.kind,
          mode: record.mode,
          currency: record.currency,
          bookedFee: record.fees ?? 0n,
          realFee: fee,
          floatEffect: sumPosted(entriesIn(ruling.entry), "available"),
          driftEffect: sumPosted(entriesIn(ruling.entry), "drift"),
          takesTwo: needsTwo(amounts, record, resolutionOf({ evidence, realFee: fee })),
          evidence
        }
      })

      const find = (reference: string | null) =>
        isReference(reference) ? transactions.byReference(reference) : Effect.succeedNone

      const rulingFor = Effect.fnUntraced(function* (record: Transaction, resolution: Resolution) {
        const entries = yield* transactions.entries(record.reference)
        return rulingOn(record, resolution, yield* Clock.currentTimeMillis, sumPosted(entries, "drift"))
      })

      const plan = Effect.fn("FeeBooking.plan")(function* (report: ReconciliationReport) {
        const named = report.known.filter(({ because }) => because === "in_review")
        const fees = [...report.differences, ...named].filter(({ kind }) => kind === "fee")
        return inTwo(yield* Effect.forEach(fees, (one) => planned(one, report)))
      })

      const bookOne = Effect.fnUntraced(function* (wanted: FeeDifference, { details, ...by }: AuditBy, alone: boolean) {
        const { evidence, realFee, reference, takesTwo } = wanted
        const fact = statedIn(wanted)
        const before = Option.getOrUndefined(yield* find(reference))
        if (before !== undefined && whyNot(before.transaction, fact) === null && !before.transaction.needsReview)
          yield* settlement.apply({ reference: before.transaction.reference, actor: "operator", fact, lastKnown: before })
        const stored = Option.getOrUndefined(yield* find(reference))
        if (stored === undefined || !isOpenedBy(stored.transaction, fact)) return { reference, why: aPersons }
        if (takesTwo && !alone) return { reference, why: twoPeople }
        const audit = {
          ...by,
          action: "review resolve",
          subject: reference,
          details: {
            ...details,
            outcome: "successful",
            evidence,
            fee_minor: realFee.toString(),
            ...(takesTwo ? { second_person: "there is none" } : {})
          }
        }
        return yield* review.resolve(stored.transaction.reference, resolutionOf(wanted), audit, stored.revision).pipe(
          Effect.as(wanted),
          Effect.catchTag("NotResolved", ({ message }) => Effect.succeed({ reference, why: message }))
        )
      })

      const book = Effect.fn("FeeBooking.book")(function* (wanted: FeePlan, by: AuditBy, alone: boolean) {
        const { booked, left } = inTwo(yield* Effect.forEach(wanted.booked, (one) => bookOne(one, by, alone)))
        return { booked, left: [...wanted.left, ...left] }
      })

      return { plan, book }
    })
}

const noRow = "no row of the statement names its fee: an answer did"
const noFee = "an exchange has no fee beside its rate: book what it cost with float debit"
const aPersons = "a person has to look at it: see gateway review list"
const twoPeople =
  "from this amount on it takes two people (CONSOLE_APPROVAL_FROM): it is in review now, rule on it in the console, or state with --no-second-person that there is nobody else"

type Stated = Pick<FeeDifference, "evidence" | "realFee">

const statedIn = ({ evidence, realFee }: Stated): Fact => ({ _tag: "FeeStated", fee: minor(realFee), note: evidence })

const resolutionOf = ({ evidence, realFee }: Stated): Resolution => ({
  outcome: "successful",
  amount: null,
  fee: minor(realFee),
  evidence
})

/** A row that cannot be parsed, or that the list shows only sometimes, may be named by the provider's reference alone. */
const isAbout = (one: ModeDifference, { reference, row }: ModeDifference): boolean =>
  one.reference === reference || (one.provider_reference !== null && one.provider_reference === row)

/** Why a fee in a statement must not be booked for this record; null when it may be. */
const whyNot = (record: Transaction, fact: Fact): string | null => {
  if (record.needsReview) return isOpenedBy(record, fact) ? null : "it is in review for another reason: a person rules on it"
  const cameBack =
    (record.kind === "payout" && record.returned !== null) || (record.kind === "collection" && record.reversed !== null)
  if (cameBack) return "its money came back: book what is missing with float credit or float debit"
  return record.ruling?.known.includes(reportOf(fact) ?? "") === true ? "a person ruled when this fee was known" : null
}

const entriesIn = (entry: Entry | null): ReadonlyArray<Entry> => (entry === null ? [] : [entry])

const inTwo = (all: ReadonlyArray<FeeDifference | FeeLeft>): FeePlan => ({
  booked: all.flatMap((one) => ("why" in one ? [] : [one])),
  left: all.flatMap((one) => ("why" in one ? [one] : []))
})

import { Effect, Layer, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { settings } from "../App.ts"
import { needsTwo } from "../domain/ApprovalAmounts.ts"
import { isReference } from "../domain/Ids.ts"
import { iso } from "../domain/Instant.ts"
import { maskedText } from "../domain/Masking.ts"
import { recordView } from "../domain/View.ts"
import { ACKNOWLEDGED_HOURS, Acknowledgements, restingUntil } from "../services/ports/Acknowledgements.ts"
import { Transactions } from "../services/ports/Transactions.ts"
import { Review } from "../services/settlement/Review.ts"
import { Amount, AmountOrNothing, Revision, reference, Words } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"
import { caseView, formatReviewQueue } from "./ReviewCase.ts"

const CASES_LISTED = 1000

const reviewPorts = Layer.provideMerge(Review.layer, operatorPorts)

const list = Command.make(
  "list",
  {},
  Effect.fn(function* () {
    const review = yield* Review
    const reading = yield* auditEntry("transaction raw read", "", { reason: "review list" })
    const cases = yield* review.cases(CASES_LISTED, reading)
    yield* printResult(cases.map(caseView), formatReviewQueue(cases, reading.at))
  }, Effect.provide(reviewPorts))
).pipe(
  Command.withDescription(
    "What needs a person, as a to-do list: why, what was sent and answered (masked; that you read it is audited), how often the provider was asked, and the commands that end the case"
  ),
  Command.withExamples([{ command: "gateway review list", description: "List what only a person can decide" }])
)

const optionalAmount = (name: string, schema: typeof Amount, description: string) =>
  Flag.String(name).pipe(Flag.withSchema(schema), Flag.optional, Flag.withDescription(description))

const resolve = Command.make(
  "resolve",
  {
    reference,
    outcome: Flag.Literals("outcome", ["successful", "failed"]).pipe(Flag.withDescription("what really happened to the money")),
    evidence: Flag.String("evidence").pipe(
      Flag.withSchema(Words(500)),
      Flag.withDescription("how that is known, for the history and the audit log")
    ),
    amount: optionalAmount("amount-minor", Amount, "what moved without fees, where it is not what the record says"),
    fee: optionalAmount("fee-minor", AmountOrNothing, "what the provider charged, where it is not what the record says"),
    alone: Flag.Boolean("no-second-person").pipe(
      Flag.withDefault(false),
      Flag.withDescription(
        "states that nobody else is there to approve it: from the amount on from which a ruling takes two people, and said in the audit log"
      )
    ),
    seen: Flag.String("seen").pipe(
      Flag.withSchema(Revision),
      Flag.optional,
      Flag.withDescription("the revision that you looked at: the command is refused when the provider has said something since")
    )
  },
  Effect.fn(function* ({ alone, amount, evidence, fee, outcome, reference, seen }) {
    const review = yield* Review
    const transactions = yield* Transactions
    const { approvalFrom } = (yield* settings).console
    if (!isReference(reference)) return yield* new CommandRefusal({ message: `there is no transaction ${reference}` })
    const resolution = { outcome, evidence, amount: Option.getOrNull(amount), fee: Option.getOrNull(fee) }
    const found = Option.getOrUndefined(yield* transactions.byReference(reference))
    const takesTwo = found !== undefined && needsTwo(approvalFrom, found.transaction, resolution)
    if (takesTwo && !alone) return yield* new CommandRefusal({ message: twoPeople })
    const entry = yield* auditEntry("review resolve", reference, {
      outcome,
      evidence: maskedText(evidence),
      ...(resolution.amount === null ? {} : { amount_minor: resolution.amount.toString() }),
      ...(resolution.fee === null ? {} : { fee_minor: resolution.fee.toString() }),
      ...(takesTwo ? { second_person: "there is none" } : {})
    })
    const record = yield* review
      .resolve(reference, resolution, entry, Option.getOrNull(seen) ?? found?.revision ?? null)
      .pipe(Effect.catchTag("NotResolved", ({ message }) => Effect.fail(new CommandRefusal({ message }))))
    yield* printResult({ app_id: record.appId, ...recordView(record) })
  }, Effect.provide(reviewPorts))
).pipe(
  Command.withDescription(
    "End a case: post what really happened; what the tenant's float cannot cover becomes its receivable, which blocks its payouts until a credit or collections cover it"
  ),
  Command.withExamples([
    {
      command:
        'gateway review resolve AAA688MG9KT6BQ76F4NM4BJRH5 --outcome successful --evidence "statement of 31 January, line 7"',
      description: "Say that the money was paid"
    }
  ])
)

const twoPeople =
  "from this amount on a ruling takes two people (CONSOLE_APPROVAL_FROM): propose it in the console, where somebody else approves it, or state with --no-second-person that there is nobody else"

const acknowledge = Command.make(
  "acknowledge",
  {
    reference,
    note: Flag.String("note").pipe(Flag.withSchema(Words(500)), Flag.withDescription("what you did about it, for the audit log")),
    hours: Flag.Int("hours").pipe(
      Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: ACKNOWLEDGED_HOURS.most }))),
      Flag.withDefault(ACKNOWLEDGED_HOURS.usual),
      Flag.withDescription(`for how long its alerts rest, at most ${ACKNOWLEDGED_HOURS.most}`)
    )
  },
  Effect.fn(function* ({ hours, note, reference }) {
    const { acknowledge } = yield* Acknowledgements
    const entry = yield* auditEntry("review acknowledge", reference, { note: maskedText(note), hours: String(hours) })
    const found = isReference(reference) ? yield* acknowledge(reference, restingUntil(entry.at, hours), entry) : Option.none()
    if (Option.isNone(found))
      return yield* new CommandRefusal({ message: `there is no transaction ${reference} that is open or in review` })
    yield* printResult({ reference, in_review: found.value.inReview, acknowledged_until: iso(found.value.until) })
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription(
    "Say that somebody looks after an open transaction: its alerts rest until then, or until it goes into review. Nothing else changes"
  ),
  Command.withExamples([
    {
      command: 'gateway review acknowledge AAA688MG9KT6BQ76F4NM4BJRH5 --note "asked the provider, ticket 71"',
      description: "Rest the alerts of one transaction for a day"
    }
  ])
)

export const review = Command.make("review").pipe(
  Command.withDescription("Transactions whose outcome only a person can establish"),
  Command.withSubcommands([list, acknowledge, resolve])
)

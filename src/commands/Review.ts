import { Effect, Layer, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { settings } from "../App.ts"
import { needsTwo } from "../domain/ApprovalAmounts.ts"
import { reportedYield } from "../domain/Contradiction.ts"
import { isReference } from "../domain/Ids.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import { feeUnlessSaid, spokeOfAnother } from "../domain/KnownFee.ts"
import { maskedText } from "../domain/Masking.ts"
import { actionsFor, meaningOf, type Resolution, type ResolutionAction } from "../domain/Resolution.ts"
import { lastReport, reviewReason } from "../domain/ReviewReason.ts"
import { recordView } from "../domain/View.ts"
import { ACKNOWLEDGED_HOURS, Acknowledgements, restingUntil } from "../services/ports/Acknowledgements.ts"
import { Transactions } from "../services/ports/Transactions.ts"
import { type Case, Review, rulingDetails } from "../services/settlement/Review.ts"
import { Amount, AmountOrNothing, choice, flag, help, isGiven, Revision, reference, words } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { asText, printResult } from "./Output.ts"
import { rule } from "./ReviewFile.ts"
import { unknown } from "./ReviewUnknown.ts"

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
  help(
    "What needs a person, as a to-do list: why, what was sent and answered (masked; that you read it is audited), how often the provider was asked, and the commands that end the case",
    ["gateway review list", "List what only a person can decide"]
  )
)

const optionalAmount = (name: string, schema: typeof Amount, description: string) =>
  flag(name, schema, description).pipe(Flag.optional)

const resolve = Command.make(
  "resolve",
  {
    reference,
    outcome: choice("outcome", ["successful", "failed"], "what really happened to the money"),
    evidence: words("evidence", 500, "how that is known, for the history and the audit log"),
    amount: optionalAmount("amount-minor", Amount, "what moved without fees, where it is not what the record says"),
    fee: optionalAmount(
      "fee-minor",
      AmountOrNothing,
      "what the provider charged, where it is not what the record says; of what failed, what it kept"
    ),
    alone: isGiven(
      "no-second-person",
      "states that nobody else is there to approve it: from the amount on from which a ruling takes two people, and said in the audit log"
    ),
    seen: flag(
      "seen",
      Revision,
      "the revision that you looked at: the command is refused when the provider has said something since"
    ).pipe(Flag.optional)
  },
  Effect.fn(function* ({ alone, amount, evidence, fee, outcome, reference, seen }) {
    const review = yield* Review
    const transactions = yield* Transactions
    const { approvalFrom } = (yield* settings).console
    if (!isReference(reference)) return yield* new CommandRefusal(`there is no transaction ${reference}`)
    const resolution = { outcome, evidence, amount: Option.getOrNull(amount), fee: Option.getOrNull(fee) }
    const found = Option.getOrUndefined(yield* transactions.byReference(reference))
    const takesTwo = found !== undefined && needsTwo(approvalFrom, found.transaction, resolution)
    if (takesTwo && !alone) return yield* new CommandRefusal(twoPeople)
    const entry = yield* auditEntry("review resolve", reference, {
      ...rulingDetails(resolution),
      ...(takesTwo ? { second_person: "there is none" } : {})
    })
    const record = yield* review
      .resolve(reference, resolution, entry, Option.getOrNull(seen) ?? found?.revision ?? null)
      .pipe(Effect.catchTag("NotResolved", ({ message }) => Effect.fail(new CommandRefusal(message))))
    yield* printResult({ app_id: record.appId, ...recordView(record) })
  }, Effect.provide(reviewPorts))
).pipe(
  help(
    "End a case: post what really happened; what the tenant's float cannot cover becomes its receivable, which blocks its payouts until a credit or collections cover it",
    [
      'gateway review resolve AAA688MG9KT6BQ76F4NM4BJRH5 --outcome successful --evidence "statement of 31 January, line 7"',
      "Say that the money was paid"
    ]
  )
)

const twoPeople =
  "from this amount on a ruling takes two people (CONSOLE_APPROVAL_FROM): propose it in the console, where somebody else approves it, or state with --no-second-person that there is nobody else"

const acknowledge = Command.make(
  "acknowledge",
  {
    reference,
    note: words("note", 500, "what you did about it, for the audit log"),
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
    if (Option.isNone(found)) return yield* new CommandRefusal(`there is no transaction ${reference} that is open or in review`)
    yield* printResult({ reference, in_review: found.value.inReview, acknowledged_until: iso(found.value.until) })
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Say that somebody looks after an open transaction: its alerts rest until then, or until it goes into review. Nothing else changes",
    [
      'gateway review acknowledge AAA688MG9KT6BQ76F4NM4BJRH5 --note "asked the provider, ticket 71"',
      "Rest the alerts of one transaction for a day"
    ]
  )
)

export const review = Command.make("review").pipe(
  help("Transactions whose outcome only a person can establish"),
  Command.withSubcommands([list, unknown, acknowledge, resolve, rule])
)

/** A case for programs. */
const caseView = ({ call, history, record, revision }: Case) => ({
  app_id: record.appId,
  reference: record.reference,
  kind: record.kind,
  status: record.status,
  revision,
  is_test_mode: record.mode === "test",
  amount_minor: record.amount,
  currency: record.currency,
  ...sentView(record),
  provider: record.provider,
  provider_reference: record.providerReference,
  sent_at: iso(record.createdAt),
  asked: record.asked,
  provider_said: lastReport(history),
  reason: reviewReason(record, history),
  raw_request: call.rawRequest,
  raw_response: call.rawResponse,
  history: history.map(({ actor, at, fact, note, status }) => ({ at: iso(at), actor, fact, status, note }))
})

/** The amounts that left the float or were to come in, and their recipient or payer. */
const sentView = (record: Case["record"]) => {
  switch (record.kind) {
    case "payout":
      return {
        principal_minor: record.principal,
        held_fee_minor: record.heldFee,
        reported_fee_minor: record.reported?.fee ?? null,
        party: record.maskedDestination
      }
    case "collection":
      return {
        observed_amount_minor: record.observedAmount,
        observed_currency: record.observedCurrency,
        reported_fee_minor: record.reported?.fee ?? null,
        party: record.maskedSource
      }
    case "exchange":
      return { destination_amount_minor: record.destinationAmount, destination_currency: record.destinationCurrency }
  }
}

const formatReviewQueue = (cases: ReadonlyArray<Case>, now: Instant): ReadonlyArray<string> => {
  if (cases.length === 0) return ["nothing needs a person"]
  const count = cases.length === 1 ? "1 case needs" : `${cases.length} cases need`
  return [`${count} a person, the oldest first`, ...cases.flatMap((one, at) => ["", ...block(one, at + 1, now)])]
}

const block = ({ call, history, record, revision }: Case, place: number, now: Instant): ReadonlyArray<string> => {
  const { appId, asked, createdAt, currency, kind, mode, provider, providerReference, reference, status } = record
  const view = {
    why: reviewReason(record, history),
    tenant: `${appId}, ${mode}`,
    provider: providerReference === null ? provider : `${provider}, where it is ${providerReference}`,
    currency,
    amount_minor: record.amount,
    ...sentView(record),
    sent_at: `${iso(createdAt)}, ${age(now - createdAt)} ago`,
    sent: call.rawRequest,
    answered: call.rawResponse,
    asked: `${asked} times since its last news`,
    last_answer: lastReport(history),
    revision,
    history: history.map(({ actor, at, fact, note }) => ({ at: iso(at), actor, fact, note }))
  }
  return [
    `${place}. ${reference}, a ${status} ${kind}`,
    ...asText(view).split("\n"),
    "to end it, one of",
    ...commands(record, revision)
  ]
}

const commands = (record: Case["record"], revision: bigint): ReadonlyArray<string> => {
  const to = actionsFor(record)
  return (["successful", "failed"] as const).flatMap((outcome) => [
    `  npm run -s gateway -- review resolve ${record.reference} --outcome ${outcome} --evidence "..."${figures(record, outcome, to[outcome])} [--seen ${revision}]`,
    `    ${meaningOf(outcome, to[outcome])}${knownFeeOf(record, outcome)}`
  ])
}

/**
 * Optional figures are in brackets. A collection is credited net of its fee, which the person has to find out where the
 * provider gave none. A known fee belongs to one amount, so that another amount needs its own fee.
 */
const figures = (record: Case["record"], outcome: Resolution["outcome"], way: ResolutionAction): string => {
  if (outcome === "failed")
    return record.kind !== "exchange" && (way === "release" || way === "correct") ? " [--fee-minor N]" : ""
  if (way === "keep") return ""
  if (record.kind === "exchange") return reportedYield(record) === null ? " [--amount-minor N]" : " --amount-minor N"
  if (record.kind === "payout") return " [--amount-minor N] [--fee-minor N]"
  if (feeUnlessSaid(record) !== null) return " [--amount-minor N --fee-minor N]"
  return `${spokeOfAnother(record) ? " --amount-minor N" : " [--amount-minor N]"} --fee-minor N`
}

/** The fee that a collection's success books where none is given. */
const knownFeeOf = (record: Case["record"], outcome: Resolution["outcome"]): string => {
  const fee = record.kind === "collection" && outcome === "successful" ? feeUnlessSaid(record) : null
  return fee === null ? "" : `; without another amount the fee is ${fee}`
}

const MINUTE_MS = 60_000
const units = [
  ["d", 1440],
  ["h", 60],
  ["min", 1]
] as const

/** The two largest units: "3 h 20 min". */
const age = (milliseconds: number): string => {
  let minutes = Math.floor(milliseconds / MINUTE_MS)
  const parts = units.flatMap(([unit, length]) => {
    const count = Math.floor(minutes / length)
    minutes -= count * length
    return count === 0 ? [] : [`${count} ${unit}`]
  })
  return parts.length === 0 ? "less than a minute" : parts.slice(0, 2).join(" ")
}

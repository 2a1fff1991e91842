import { Effect, Layer, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { isReference } from "../domain/Ids.ts"
import { iso } from "../domain/Instant.ts"
import { maskedText } from "../domain/Masking.ts"
import { recordView } from "../domain/View.ts"
import { type Case, Review } from "../services/Review.ts"
import { answer } from "./Answer.ts"
import { Amount, AmountOrNothing, Words } from "./Arguments.ts"
import { operatorPorts } from "./Installation.ts"
import { audit } from "./Operator.ts"
import { Refusal } from "./Refusal.ts"

const CASES_LISTED = 1000

const reviewPorts = Layer.provideMerge(Review.layer, operatorPorts)

const list = Command.make(
  "list",
  {},
  Effect.fn(function* () {
    const review = yield* Review
    yield* answer((yield* review.cases(CASES_LISTED)).map(caseView))
  }, Effect.provide(reviewPorts))
).pipe(Command.withDescription("Transactions that need a person: what was sent, when, and what the provider said"))

const optionalAmount = (name: string, schema: typeof Amount, description: string) =>
  Flag.String(name).pipe(Flag.withSchema(schema), Flag.optional, Flag.withDescription(description))

const resolve = Command.make(
  "resolve",
  {
    reference: Argument.String("REFERENCE"),
    outcome: Flag.Literals("outcome", ["successful", "failed"]).pipe(Flag.withDescription("what really happened to the money")),
    evidence: Flag.String("evidence").pipe(
      Flag.withSchema(Words(500)),
      Flag.withDescription("how that is known, for the history and the audit")
    ),
    amount: optionalAmount("amount-minor", Amount, "what moved without fees, where it is not what the record says"),
    fee: optionalAmount("fee-minor", AmountOrNothing, "what the provider charged, where it is not what the record says")
  },
  Effect.fn(function* ({ amount, evidence, fee, outcome, reference }) {
    const review = yield* Review
    if (!isReference(reference)) return yield* new Refusal({ message: `there is no transaction ${reference}` })
    const resolution = { outcome, evidence, amount: Option.getOrNull(amount), fee: Option.getOrNull(fee) }
    const entry = yield* audit("review resolve", reference, {
      outcome,
      evidence: maskedText(evidence),
      ...(resolution.amount === null ? {} : { amount_minor: resolution.amount.toString() }),
      ...(resolution.fee === null ? {} : { fee_minor: resolution.fee.toString() })
    })
    const record = yield* review
      .resolve(reference, resolution, entry)
      .pipe(Effect.catchTag("NotResolved", ({ message }) => Effect.fail(new Refusal({ message }))))
    yield* answer({ app_id: record.appId, ...recordView(record) })
  }, Effect.provide(reviewPorts))
).pipe(
  Command.withDescription(
    "End a case: post what really happened; what the tenant's float cannot cover becomes its receivable, which blocks its payouts until a credit or collections cover it"
  )
)

export const review = Command.make("review").pipe(
  Command.withDescription("Transactions whose outcome only a person can establish"),
  Command.withSubcommands([list, resolve])
)

const caseView = ({ history, record }: Case) => ({
  app_id: record.appId,
  reference: record.reference,
  kind: record.kind,
  status: record.status,
  is_test_mode: record.mode === "test",
  amount_minor: record.amount,
  currency: record.currency,
  ...sentView(record),
  provider: record.provider,
  provider_reference: record.providerReference,
  sent_at: iso(record.createdAt),
  asked: record.asked,
  provider_said: history.findLast(({ actor, note }) => actor !== "review" && note !== "")?.note ?? null,
  history: history.map(({ actor, at, fact, note, status }) => ({ at: iso(at), actor, fact, status, note }))
})

/** What left the float or was to come in, and to or from whom. */
const sentView = (record: Case["record"]) => {
  switch (record.kind) {
    case "payout":
      return { principal_minor: record.principal, held_fee_minor: record.heldFee, party: record.maskedDestination }
    case "collection":
      return {
        observed_amount_minor: record.observedAmount,
        observed_currency: record.observedCurrency,
        party: record.maskedSource
      }
    case "exchange":
      return { destination_amount_minor: record.destinationAmount, destination_currency: record.destinationCurrency }
  }
}

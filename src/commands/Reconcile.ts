import { Clock, Effect, Layer, Option, Schema, Struct } from "effect"
import { Command, Flag } from "effect/cli"
import * as App from "../App.ts"
import { type Instant, instantOf, iso } from "../domain/Instant.ts"
import { statedRulings } from "../domain/ReconciliationDifference.ts"
import { GatewayStatus } from "../services/ports/GatewayStatus.ts"
import { Reconciliations } from "../services/ports/Reconciliations.ts"
import { FeeBooking, type FeeDifference } from "../services/settlement/FeeBooking.ts"
import { keptReconciliation } from "../services/settlement/KeptReconciliation.ts"
import { Reconciliation, type ReconciliationReport } from "../services/settlement/Reconciliation.ts"
import { exampleProvider, flag, help, isGiven, providerName } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { bySystemUser } from "./Operator.ts"
import { printErrors, printResult } from "./Output.ts"
import { settingsWithProviders } from "./Provider.ts"

const DAY_LENGTH = "2026-01-31".length
const startOf = (day: string) => instantOf(`${day}T00:00:00Z`)
const Day = Schema.String.check(
  Schema.makeFilter((day: string) => Option.isSome(startOf(day)) || "is a UTC day such as 2026-01-31")
)

const reconciliationLayer = Layer.unwrap(Effect.map(settingsWithProviders, App.reconciliation)).pipe(Layer.provideMerge(App.logs))

const feesLayer = Layer.unwrap(Effect.map(settingsWithProviders, App.feeBooking)).pipe(Layer.provideMerge(App.logs))

interface Compared {
  readonly provider: string
  readonly start: Instant
  readonly day: string
}

const comparison = Effect.fnUntraced(function* ({ day, provider, start }: Compared, now: Instant) {
  const report = yield* (yield* Reconciliation).reconcile(provider, start, day)
  const { recordCheck } = yield* GatewayStatus
  yield* recordCheck({ name: "reconcile", subject: provider, at: now, differences: report.differences.length })
  yield* (yield* Reconciliations).keep(keptReconciliation(report, now))
  yield* printResult(report, undefined, forPeople(report))
  if (!report.ok)
    return yield* new CommandRefusal(
      `${report.differences.length} differences between the account at ${provider} and ours: see docs/runbooks/reconcile-difference.md`
    )
}, Effect.provide(reconciliationLayer))

/** A file of rulings for `review` to book: those that the provider's account alone decides. */
const rulings = Effect.fnUntraced(function* ({ day, provider, start }: Compared) {
  const { differences, known } = yield* (yield* Reconciliation).reconcile(provider, start, day)
  const stated = statedRulings([...differences, ...known])
  const lines = stated.map(({ currency, fee, outcome, reference }) => [reference, outcome, fee ?? "", currency ?? ""].join(","))
  yield* printResult(stated, ["reference,outcome,fee_minor,currency", ...lines])
  const inReview = new Set(known.flatMap(({ because, reference }) => (because === "in_review" ? [reference] : [])))
  const left = inReview.size - stated.length
  if (left > 0) yield* printErrors(`${left} in review have no line here: look at each, by gateway review list`)
}, Effect.provide(reconciliationLayer))

/** Without the lines of the provider's account, which `theirs` has as text: their amounts, fees and times are for programs. */
const forPeople = ({ differences, known, ...rest }: ReconciliationReport) => ({
  ...rest,
  differences: differences.map((one) => Struct.omit(one, ["lines"])),
  known: known.map((one) => Struct.omit(one, ["lines"]))
})

const booking = Effect.fnUntraced(function* (
  { day, provider, start }: Compared,
  { alone, apply }: { readonly alone: boolean; readonly apply: boolean }
) {
  const { book, plan } = yield* FeeBooking
  const planned = yield* plan(yield* (yield* Reconciliation).reconcile(provider, start, day))
  const { booked, left } = apply ? yield* book(planned, yield* bySystemUser, alone) : planned
  yield* printResult({ provider, day, dry_run: !apply, fees: booked.map(feeView), left })
  if (apply && left.length > 0) return yield* new CommandRefusal(`${left.length} fees of ${provider} were not booked`)
}, Effect.provide(feesLayer))

const feeView = (fee: FeeDifference) => ({
  reference: fee.reference,
  kind: fee.kind,
  is_test_mode: fee.mode === "test",
  currency: fee.currency,
  booked_fee_minor: fee.bookedFee,
  real_fee_minor: fee.realFee,
  float_effect_minor: fee.floatEffect,
  drift_minor: fee.driftEffect,
  takes_two_people: fee.takesTwo,
  evidence: fee.evidence
})

export const reconcile = Command.make(
  "reconcile",
  {
    provider: providerName,
    day: flag("day", Day, "a UTC day such as 2026-01-31; today if left out").pipe(Flag.optional),
    bookFees: isGiven(
      "book-fees",
      "list the fees that its statement names and that are not booked so, and what booking them does to floats"
    ),
    rulings: isGiven(
      "rulings",
      "print a file of rulings on what is in review and what its account says succeeded or failed: CSV of reference, outcome, fee_minor and currency"
    ),
    apply: isGiven("apply", "book them"),
    alone: isGiven(
      "no-second-person",
      "states that nobody else is there to approve those that take two people; said in the audit log"
    )
  },
  Effect.fn(function* ({ alone, apply, bookFees, day, provider, rulings: asRulings }) {
    const now = yield* Clock.currentTimeMillis
    const wanted = Option.getOrElse(day, () => iso(now).slice(0, DAY_LENGTH))
    const start = Option.getOrElse(startOf(wanted), () => now)
    // Nothing has happened on it, and a check without a difference ends the alert of an earlier day.
    if (start > now) return yield* new CommandRefusal(`${wanted} has not begun: give a day until today, in UTC`)
    if (asRulings && (bookFees || apply || alone))
      return yield* new CommandRefusal("--rulings goes with no other option but --day")
    if (asRulings) return yield* rulings({ provider, start, day: wanted })
    if (bookFees) return yield* booking({ provider, start, day: wanted }, { alone, apply })
    if (apply || alone) return yield* new CommandRefusal("--apply and --no-second-person go with --book-fees")
    yield* comparison({ provider, start, day: wanted }, now)
  })
).pipe(
  help(
    "Compare a provider's own account with ours, to the minor unit; exit 1 on any difference that nothing explains. It needs the provider's account in the settings",
    [`gateway reconcile ${exampleProvider} --day 2026-01-31`, "Compare one UTC day"],
    [
      `gateway reconcile ${exampleProvider} --day 2026-01-31 --book-fees`,
      "List the fees of that day that are booked otherwise than the statement names them; book them with --apply"
    ],
    [
      `gateway reconcile ${exampleProvider} --day 2026-01-31 --rulings > rulings.csv`,
      "Write a file of rulings by what the statement says of that day's records in review"
    ]
  )
)

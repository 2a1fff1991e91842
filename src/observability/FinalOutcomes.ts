import { Clock, Effect, Layer, Metric } from "effect"
import { type FinalOutcome, finalOutcome, NO_FAILURE } from "../domain/FinalOutcome.ts"
import type { Mode } from "../domain/Ids.ts"
import { FailureCode } from "../domain/Payment.ts"
import { routeOutcomes } from "../domain/RouteResult.ts"
import { labelledMetric } from "../runtime/LabelledMetric.ts"
import { type ApplyOutcome, type ApplyStep, FloatLedger } from "../services/ports/FloatLedger.ts"
import { PeriodCounts, WALLET_TOO_SMALL } from "../services/ports/PeriodCounts.ts"
import { RouteCounts } from "../services/ports/RouteCounts.ts"

const MS_PER_SECOND = 1000

// Not an interface: that would be open to further members, and so would not be a set of labels.
type Ended = { readonly [Label in keyof FinalOutcome]: FinalOutcome[Label] }

const transactions = labelledMetric((attributes: Ended) =>
  Metric.counter("gateway_transactions_total", {
    description: "Transactions that came to their final status, each once, by what the record said then.",
    incremental: true,
    attributes
  })
)
const durations = labelledMetric((attributes: Omit<Ended, "corridor" | "failure">) =>
  Metric.histogram("gateway_transaction_duration_seconds", {
    description: "How long transactions took from their creation to their final status.",
    boundaries: [1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600, 21_600, 86_400],
    attributes
  })
)

/** Begins at zero for each account: an alert does not see a counter's first increment. */
export const walletRefusals = labelledMetric((attributes: { readonly provider: string; readonly mode: Mode }) =>
  Metric.counter("gateway_wallet_refusals_total", {
    description: "Payments that ended because our wallet at the provider was too small, whether at once or as a poll found.",
    incremental: true,
    attributes
  })
)

/**
 * Wraps any ledger, and counts each transaction that ends and the result of each payment at its provider. It counts after the
 * commit that made the status final, and only on the node that made that commit. If the process dies in between, or the answer
 * to the commit is lost, the transaction is not counted.
 */
export const countedOutcomes = Layer.effect(
  FloatLedger,
  Effect.gen(function* () {
    const ledger = yield* FloatLedger
    const periods = yield* PeriodCounts
    const routes = yield* RouteCounts
    const begun = new Set<string>()

    /** An alert does not see a counter's first increment: all counters of a corridor begin with its first ended transaction. */
    const begin = Effect.fnUntraced(function* (outcome: FinalOutcome) {
      const { corridor, kind, mode, provider } = outcome
      const line = `${kind} ${mode} ${provider} ${corridor}`
      if (begun.has(line)) return
      begun.add(line)
      yield* transactions({ ...outcome, status: "successful", failure: NO_FAILURE }, 0)
      for (const failure of FailureCode.literals) yield* transactions({ ...outcome, status: "failed", failure }, 0)
    })

    const count = Effect.fnUntraced(function* ({ before, next, walletTooSmall }: ApplyStep) {
      const outcome = finalOutcome(before, next)
      if (outcome === null) return
      const { corridor, failure, kind, mode, provider, status } = outcome
      const at = next.completedAt ?? (yield* Clock.currentTimeMillis)
      yield* begin(outcome)
      yield* transactions({ kind, mode, provider, corridor, status, failure }, 1)
      if (walletTooSmall === true) yield* walletRefusals({ provider, mode }, 1)
      yield* durations({ kind, mode, provider, status }, Math.max(0, at - next.createdAt) / MS_PER_SECOND)
      yield* periods.add({
        what: kind,
        mode,
        provider,
        corridor,
        outcome: status,
        failure: walletTooSmall === true ? WALLET_TOO_SMALL : failure
      })
    })

    const counted = (step: ApplyStep, applied: Effect.Effect<ApplyOutcome>) =>
      Effect.tap(applied, ({ _tag }) => (_tag === "Applied" ? count(step) : Effect.void))

    /** The results at providers. A person's ruling says nothing about them. */
    const routed = (step: ApplyStep, applied: Effect.Effect<ApplyOutcome>) =>
      Effect.tap(applied, ({ _tag }) =>
        _tag === "Applied"
          ? Effect.forEach(routeOutcomes(step), (outcome) => routes.add(step.next.mode, outcome), { discard: true })
          : Effect.void
      )

    return FloatLedger.of({
      ...ledger,
      apply: (step) => routed(step, counted(step, ledger.apply(step))),
      resolve: (step, audit) => counted(step, ledger.resolve(step, audit))
    })
  })
)

import { Effect, Metric } from "effect"
import type { CorridorKey } from "../../domain/Corridor.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { labelledMetric } from "../../runtime/LabelledMetric.ts"
import {
  annotateTraced,
  asChildOf,
  currentTraceparent,
  linkingSpans,
  rootTraceparent,
  whereTraced
} from "../../runtime/Tracing.ts"
import type { OpenOutcome, OpenStep } from "../../services/ports/FloatLedger.ts"
import { timedCommit } from "../connection/DatabaseTimes.ts"

/** A money step with the span in which it was made. */
export type Traced<Step> = Step & { readonly traceparent: string | null }

const batchSizes = labelledMetric((attributes: { readonly step: string }) =>
  Metric.histogram("gateway_money_step_batch_size", {
    description: "How many money steps one statement held.",
    boundaries: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    attributes
  })
)

export const withTraceparent =
  <Step extends object, Result>(commit: (step: Traced<Step>) => Effect.Effect<Result>) =>
  (step: Step): Effect.Effect<Result> =>
    Effect.flatMap(currentTraceparent, (traceparent) => commit({ ...step, traceparent }))

/**
 * For the step that begins a transaction: annotates its span with the transaction, and passes on the root of the trace, which
 * is stored with the record for everything that follows.
 */
export const withRootTraceparent =
  (commit: (step: Traced<OpenStep>) => Effect.Effect<OpenOutcome>) =>
  (step: OpenStep): Effect.Effect<OpenOutcome> =>
    Effect.andThen(
      annotateTraced(() => attributesOf(step.transaction)),
      Effect.flatMap(rootTraceparent, (traceparent) => commit({ ...step, traceparent }))
    )

const attributesOf = (record: Transaction) => ({
  "gateway.reference": record.reference,
  "gateway.kind": record.kind,
  "gateway.mode": record.mode,
  "gateway.provider": record.provider,
  ...(record.kind === "exchange" ? {} : { "gateway.corridor": corridorName(record.corridor) })
})

const corridorName = ({ country, currency, direction, method }: CorridorKey): string =>
  [country, currency, direction, method].join("/")

/** One statement for steps of many requests: its span links to all of theirs. A single step's is in its request's trace. */
export const linkedBatch =
  <Step extends { readonly traceparent: string | null }>(
    step: "open" | "apply",
    steps: ReadonlyArray<Step>,
    recordOf: (step: Step) => Transaction
  ) =>
  <A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.andThen(
      batchSizes({ step }, steps.length),
      whereTraced<A, E, never>((traced) => {
        const [only] = steps
        const size = { "gateway.batch_size": steps.length }
        return only === undefined || steps.length > 1
          ? traced.pipe(Effect.annotateSpans(size), linkingSpans(steps.map(({ traceparent }) => traceparent)))
          : traced.pipe(Effect.annotateSpans({ ...size, ...namesOf(recordOf(only)) }), asChildOf(only.traceparent))
      })(timedCommit(statement))
    )

const namesOf = ({ appId, mode, reference }: Transaction) => ({
  "gateway.reference": reference,
  "gateway.app_id": appId,
  "gateway.mode": mode
})

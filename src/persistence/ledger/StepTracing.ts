import { Effect, Metric } from "effect"
import type { CorridorKey } from "../../domain/Corridor.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { labelledMetric } from "../../runtime/LabelledMetric.ts"
import { currentTraceparent, linkingSpans, whereTraced } from "../../runtime/Tracing.ts"
import type { OpenOutcome, OpenStep } from "../../services/ports/FloatLedger.ts"

/** A money step that knows the span that it was made in. */
export type Traced<Step> = Step & { readonly traceparent: string | null }

const batchSizes = labelledMetric((attributes: { readonly step: string }) =>
  Metric.histogram("gateway_money_step_batch_size", {
    description: "How many money steps one statement held.",
    boundaries: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    attributes
  })
)

/** Hands a step on together with the span that it is made in. */
export const withTraceparent =
  <Step extends object, Result>(commit: (step: Traced<Step>) => Effect.Effect<Result>) =>
  (step: Step): Effect.Effect<Result> =>
    Effect.flatMap(currentTraceparent, (traceparent) => commit({ ...step, traceparent }))

/** As `withTraceparent`, for the step that begins a transaction: its span says which. */
export const withTraceparentAndAttributes =
  (commit: (step: Traced<OpenStep>) => Effect.Effect<OpenOutcome>) => (step: OpenStep) =>
    Effect.andThen(Effect.annotateCurrentSpan(attributesOf(step.transaction)), withTraceparent(commit)(step))

const attributesOf = (record: Transaction) => ({
  "gateway.reference": record.reference,
  "gateway.kind": record.kind,
  "gateway.mode": record.mode,
  "gateway.provider": record.provider,
  ...(record.kind === "exchange" ? {} : { "gateway.corridor": corridorName(record.corridor) })
})

const corridorName = ({ country, currency, direction, method }: CorridorKey): string =>
  [country, currency, direction, method].join("/")

/** One statement for steps of many requests: its span is linked to all of theirs, and says what it is about where that is one. */
export const linkedBatch =
  <Step extends { readonly traceparent: string | null }>(
    step: "open" | "apply",
    steps: ReadonlyArray<Step>,
    recordOf: (step: Step) => Transaction
  ) =>
  <A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.andThen(
      batchSizes({ step }, steps.length),
      whereTraced<A, E, never>((traced) =>
        traced.pipe(
          Effect.annotateSpans({
            "gateway.batch_size": steps.length,
            ...(steps.length > 1 ? {} : namesOf(steps.map(recordOf)))
          }),
          linkingSpans(steps.map(({ traceparent }) => traceparent))
        )
      )(statement)
    )

const namesOf = ([record]: ReadonlyArray<Transaction>) =>
  record === undefined
    ? {}
    : { "gateway.reference": record.reference, "gateway.app_id": record.appId, "gateway.mode": record.mode }

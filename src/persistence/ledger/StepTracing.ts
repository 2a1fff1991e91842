import { Effect, Metric } from "effect"
import type { CorridorKey } from "../../domain/Corridor.ts"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import { labelledMetric } from "../../runtime/LabelledMetric.ts"
import { currentTraceparent, inSpan, linkCurrentSpan } from "../../runtime/Tracing.ts"
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

/** As `traced`, for the step that begins a transaction: its span says which. */
export const withTraceparentAndAttributes =
  (commit: (step: Traced<OpenStep>) => Effect.Effect<OpenOutcome>) => (step: OpenStep) =>
    Effect.andThen(Effect.annotateCurrentSpan(attributesOf(step.transaction)), withTraceparent(commit)(step))

const attributesOf = (record: LedgerRecord) => ({
  "gateway.reference": record.reference,
  "gateway.kind": record.kind,
  "gateway.mode": record.mode,
  "gateway.provider": record.provider,
  ...(record.kind === "exchange" ? {} : { "gateway.corridor": corridorName(record.corridor) })
})

const corridorName = ({ country, currency, direction, method }: CorridorKey): string =>
  [country, currency, direction, method].join("/")

/** One statement for steps of many requests: its span is nobody's child, and linked to all of theirs. */
export const inBatchSpan =
  (step: "open" | "apply", steps: ReadonlyArray<{ readonly traceparent: string | null }>) =>
  <A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    batchSizes({ step }, steps.length).pipe(
      Effect.andThen(linkCurrentSpan(steps.map(({ traceparent }) => traceparent))),
      Effect.andThen(statement),
      inSpan(`FloatLedger.${step}.batch`, { root: true, attributes: { "gateway.batch_size": steps.length } })
    )

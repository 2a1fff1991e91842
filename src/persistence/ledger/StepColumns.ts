import type { Transaction } from "../../domain/Transaction.ts"
import type { ApplyStep, OpenStep } from "../../services/ports/FloatLedger.ts"
import type { Column } from "../connection/Columns.ts"
import { digestWith } from "../transactions/HistoryDigest.ts"
import { storedType } from "../transactions/NewerEventTypes.ts"
import { storedNote } from "../transactions/StoredNote.ts"
import { recordTextWith } from "../transactions/StoredRecord.ts"
import type { Traced } from "./StepTracing.ts"

type TracedStep = Traced<OpenStep> | Traced<ApplyStep>

const recordOf = (step: TracedStep): Transaction => ("transaction" in step ? step.transaction : step.next)

/** The parameters of a step that both functions take. */
export const stepColumns = {
  app_id: { type: "text", of: (step) => recordOf(step).appId },
  mode: { type: "text", of: (step) => recordOf(step).mode },
  reference: { type: "text", of: (step) => recordOf(step).reference },
  status: { type: "text", of: (step) => recordOf(step).status },
  needs_review: { type: "boolean", of: (step) => recordOf(step).needsReview },
  provider: { type: "text", of: (step) => recordOf(step).provider },
  provider_reference: { type: "text", of: (step) => recordOf(step).providerReference },
  record: { type: "text", of: (step) => recordTextWith(recordOf(step), digestWith(step)) },
  next_poll_at: { type: "timestamptz", of: ({ nextPollAt }) => nextPollAt },
  at: { type: "timestamptz", of: ({ line }) => line.at },
  actor: { type: "text", of: ({ line }) => line.actor },
  fact: { type: "text", of: ({ line }) => line.fact },
  note: { type: "text", of: ({ line }) => storedNote(line) },
  event_id: { type: "text", of: ({ event }) => event?.id ?? null },
  event_type: { type: "text", of: ({ event }) => (event === null ? null : storedType(event.type)) },
  event_body: { type: "text", of: ({ event }) => event?.body ?? null }
} satisfies Readonly<Record<string, Column<TracedStep>>>

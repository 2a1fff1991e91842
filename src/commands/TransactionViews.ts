import { type Delivery, deliveryView } from "../domain/Delivery.ts"
import type { LedgerRecord } from "../domain/Exchange.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import { recordView } from "../domain/View.ts"
import type { HistoryLine } from "../services/ports/FloatLedger.ts"
import type { StoredTransaction } from "../services/ports/Transactions.ts"

/** One of many, for programs: the record as its tenant sees it, and whose it is. */
export const recordRow = (record: LedgerRecord) => ({ ...ownership(record), ...recordView(record) })

/** One of many, for people. */
export const rowForPeople = (record: LedgerRecord) => ({
  reference: record.reference,
  app_id: record.appId,
  mode: record.mode,
  kind: record.kind,
  status: record.status,
  needs_review: record.needsReview,
  provider: record.provider,
  amount_minor: record.amount,
  currency: record.kind === "exchange" ? record.currency : record.amountCurrency,
  created_at: iso(record.createdAt)
})

/** A record and everything that is known about it. */
interface WholeRecord {
  readonly stored: StoredTransaction
  readonly nextPoll: Instant | null
  readonly deliveries: ReadonlyArray<Delivery>
  readonly history: ReadonlyArray<HistoryLine>
}

export const recordWithHistory = (whole: WholeRecord) => ({
  ...headOf(whole),
  history: whole.history.map(lineView),
  deliveries: whole.deliveries.map(deliveryView)
})

/** The same for people: of each delivery a row, without the answers of the endpoint. */
export const recordWithHistoryShort = (whole: WholeRecord) => ({
  ...headOf(whole),
  history: whole.history.map(lineView),
  deliveries: whole.deliveries.map(({ attempts, completedAt, eventType, id, nextAttemptAt, status }) => ({
    id,
    event_type: eventType,
    status,
    attempts: attempts.length,
    last_answer: attempts.at(-1)?.status ?? null,
    next_attempt_at: nextAttemptAt === null ? null : iso(nextAttemptAt),
    completed_at: completedAt === null ? null : iso(completedAt)
  }))
})

/** What the provider was asked, what it said, and what came of it. */
export const answerView = (before: StoredTransaction, after: StoredTransaction, said: ReadonlyArray<HistoryLine>) => ({
  ...ownership(after.transaction),
  asked: before.transaction.provider,
  provider_said: said.filter(({ actor }) => actor === "operator").map(({ at, fact, note }) => ({ at: iso(at), fact, note })),
  status_before: before.transaction.status,
  changed: before.transaction.version !== after.transaction.version,
  ...recordView(after.transaction),
  revision: after.revision
})

const headOf = ({ nextPoll, stored: { revision, traceparent = null, transaction } }: WholeRecord) => ({
  ...ownership(transaction),
  ...recordView(transaction),
  revision,
  // W3C trace context: version, trace, span, flags.
  trace_ids: traceparent === null ? [] : traceparent.split("-").slice(1, 2),
  next_poll_at: nextPoll === null ? null : iso(nextPoll)
})

/** What no tenant sees of its own record, or need not. */
const ownership = ({ appId, kind, mode, provider, providerReference }: LedgerRecord) => ({
  app_id: appId,
  kind,
  mode,
  provider,
  provider_reference: providerReference
})

const lineView = ({ actor, at, fact, note, status }: HistoryLine) => ({ at: iso(at), actor, fact, status, note })

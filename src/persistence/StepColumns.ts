import { Schema } from "effect"
import type { OutboxEvent } from "../domain/Event.ts"
import { LedgerRecord } from "../domain/Exchange.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import { type Entry, slots } from "../domain/Ledger.ts"
import type { HistoryLine } from "../services/ports/FloatLedger.ts"

const encodeRecord = Schema.encodeSync(Schema.toCodecJson(LedgerRecord))

const isoOrNull = (at: Instant | null): string | null => (at === null ? null : iso(at))

// The parts that both statements share. Every bigint travels as text and is cast by PostgreSQL.

export const entryColumns = (entry: Entry | null) => ({
  slot: entry === null ? null : slots[entry.phase],
  phase: entry?.phase ?? null,
  postings: entry === null ? [] : entry.postings.map((line) => ({ ...line, amount: line.amount.toString() }))
})

export const eventColumns = (event: OutboxEvent | null) => ({
  event_id: event?.id ?? null,
  event_type: event?.type ?? null,
  event_body: event?.body ?? null
})

export const lineColumns = (line: HistoryLine) => ({ at: iso(line.at), actor: line.actor, fact: line.fact, note: line.note })

export const recordColumns = (transaction: LedgerRecord, nextAskAt: Instant | null) => ({
  app_id: transaction.appId,
  mode: transaction.mode,
  reference: transaction.reference,
  provider: transaction.provider,
  status: transaction.status,
  needs_review: transaction.needsReview,
  provider_reference: transaction.providerReference,
  record: encodeRecord(transaction),
  next_ask_at: isoOrNull(nextAskAt)
})

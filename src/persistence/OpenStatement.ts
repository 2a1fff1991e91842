import { Schema } from "effect"
import type { OutboxEvent } from "../domain/Event.ts"
import type { Instant } from "../domain/Instant.ts"
import { iso } from "../domain/Instant.ts"
import { type Entry, slots } from "../domain/Ledger.ts"
import { Transaction } from "../domain/Transaction.ts"
import type { HistoryLine, OpenStep } from "../services/ports/FloatLedger.ts"

export const encodeTransaction = Schema.encodeSync(Schema.toCodecJson(Transaction))

const hex = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString("hex"))
const isoOrNull = (at: Instant | null): string | null => (at === null ? null : iso(at))

/** The parts that both statements share. Every bigint travels as text and is cast by PostgreSQL. */
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

export const recordColumns = (transaction: Transaction, nextAskAt: Instant | null) => ({
  app_id: transaction.appId,
  mode: transaction.mode,
  reference: transaction.reference,
  status: transaction.status,
  needs_review: transaction.needsReview,
  provider_reference: transaction.providerReference,
  record: encodeTransaction(transaction),
  next_ask_at: isoOrNull(nextAskAt)
})

/** One open step as the statement's JSON parameter holds it. */
export const openColumns = (step: OpenStep, ord: number) => ({
  ord,
  ...recordColumns(step.transaction, step.nextAskAt),
  kind: step.transaction.kind,
  provider: step.transaction.provider,
  currency: step.transaction.currency,
  held: step.transaction.kind === "payout" ? (step.transaction.principal + step.transaction.heldFee).toString() : "0",
  endpoint: step.claim.scope.endpoint,
  key: step.claim.scope.key,
  fence: step.claim.fence.toString(),
  sealed_destination: hex(step.sealedDestination),
  party_hash: hex(step.partyHash),
  ...entryColumns(step.entry),
  ...eventColumns(step.event),
  ...lineColumns(step.line)
})

/**
 * Opens a batch of transactions as if they had come one after another in the order of `ord`: each checks its key's fence and its
 * tenant, and the float is folded over the steps of one position in order, so that a step that does not fit leaves room for the next.
 * Only rows read through the locks are fresh; that is why the verdicts read nothing else.
 */
export const openStatement = `
WITH RECURSIVE step AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS s(
    ord int, app_id text, mode text, reference text, kind text, status text, needs_review boolean, provider text, provider_reference text,
    record json, next_ask_at timestamptz, currency text, held bigint, endpoint text, key text, fence bigint, sealed_destination text,
    party_hash text, slot text, phase text, postings json, event_id text, event_type text, event_body text, at timestamptz, actor text,
    fact text, note text)
),
claim AS MATERIALIZED (
  SELECT k.app_id, k.mode, k.endpoint, k.key, k.fence, k.state
  FROM idempotency_keys k JOIN step s ON k.app_id = s.app_id AND k.mode = s.mode AND k.endpoint = s.endpoint AND k.key = s.key
  ORDER BY k.app_id, k.mode, k.endpoint, k.key FOR UPDATE OF k
),
tenant AS MATERIALIZED (
  SELECT t.app_id, t.status FROM tenants t
  WHERE t.app_id IN (SELECT app_id FROM step) AND (SELECT count(*) FROM claim) >= 0
  ORDER BY t.app_id FOR SHARE OF t
),
position AS MATERIALIZED (
  SELECT p.* FROM float_positions p
  WHERE (p.app_id, p.mode, p.currency) IN (SELECT app_id, mode, currency FROM step WHERE held > 0) AND (SELECT count(*) FROM tenant) >= 0
  ORDER BY p.app_id, p.mode, p.currency FOR UPDATE OF p
),
judged AS MATERIALIZED (
  SELECT s.ord, s.app_id, s.mode, s.currency, s.held, coalesce(p.available_minor, 0) AS available,
    CASE
      WHEN c.fence IS DISTINCT FROM s.fence OR c.state IS DISTINCT FROM 'claimed' THEN 'ClaimLost'
      WHEN t.status IS DISTINCT FROM 'active' THEN 'Frozen'
    END AS refusal
  FROM step s
  LEFT JOIN claim c ON c.app_id = s.app_id AND c.mode = s.mode AND c.endpoint = s.endpoint AND c.key = s.key
  LEFT JOIN tenant t ON t.app_id = s.app_id
  LEFT JOIN position p ON p.app_id = s.app_id AND p.mode = s.mode AND p.currency = s.currency
),
queue AS MATERIALIZED (
  SELECT ord, app_id, mode, currency, held, available, row_number() OVER (PARTITION BY app_id, mode, currency ORDER BY ord) AS turn
  FROM judged WHERE refusal IS NULL AND held > 0
),
fold AS (
  SELECT ord, app_id, mode, currency, turn, available AS before, held <= available AS fits,
    CASE WHEN held <= available THEN available - held ELSE available END AS after
  FROM queue WHERE turn = 1
  UNION ALL
  SELECT q.ord, q.app_id, q.mode, q.currency, q.turn, f.after, q.held <= f.after,
    CASE WHEN q.held <= f.after THEN f.after - q.held ELSE f.after END
  FROM fold f JOIN queue q ON q.app_id = f.app_id AND q.mode = f.mode AND q.currency = f.currency AND q.turn = f.turn + 1
),
verdict AS MATERIALIZED (
  SELECT j.ord, coalesce(j.refusal, CASE WHEN f.fits THEN 'Opened' WHEN f.ord IS NULL THEN 'Opened' ELSE 'ShortFloat' END) AS verdict,
    coalesce(f.before, j.available) AS available
  FROM judged j LEFT JOIN fold f ON f.ord = j.ord
),
opened AS MATERIALIZED (SELECT s.* FROM step s JOIN verdict v ON v.ord = s.ord WHERE v.verdict = 'Opened'),
inserted AS (
  INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, provider_reference, revision, record,
    party_hash, sealed_destination, next_ask_at, created_at)
  SELECT app_id, reference, mode, kind, status, needs_review, provider, provider_reference, 1, record,
    decode(party_hash, 'hex'), decode(sealed_destination, 'hex'), next_ask_at, at FROM opened
  RETURNING app_id
),
linked AS (
  UPDATE idempotency_keys k SET state = 'pinned', reference = o.reference FROM opened o
  WHERE k.app_id = o.app_id AND k.mode = o.mode AND k.endpoint = o.endpoint AND k.key = o.key AND k.fence = o.fence AND k.state = 'claimed'
  RETURNING k.app_id
),
noted AS (
  INSERT INTO transaction_history (app_id, reference, at, actor, fact, note, status)
  SELECT app_id, reference, at, actor, fact, note, status FROM opened ORDER BY ord
),
journaled AS (
  INSERT INTO journal (app_id, reference, slot, mode, phase, at) SELECT app_id, reference, slot, mode, phase, at FROM opened WHERE slot IS NOT NULL
),
line AS MATERIALIZED (
  SELECT o.app_id, o.reference, o.slot, o.mode, p.currency, p.account, p.amount
  FROM opened o CROSS JOIN LATERAL json_to_recordset(o.postings) AS p(currency text, account text, amount bigint)
),
posted AS (
  INSERT INTO postings (app_id, reference, slot, currency, account, mode, amount_minor)
  SELECT app_id, reference, slot, currency, account, mode, amount FROM line
),
delta AS (
  SELECT app_id, mode, currency, sum(amount) FILTER (WHERE account = 'available') AS available,
    sum(amount) FILTER (WHERE account = 'reserved') AS reserved
  FROM line GROUP BY app_id, mode, currency
),
moved AS (
  -- Every column comes from the locked row. PostgreSQL checks the new row that it computes from its snapshot before it notices that the
  -- row has moved on, so that a payout which a concurrent credit made affordable would break the CHECK.
  UPDATE float_positions p SET
    available_minor = l.available_minor + d.available,
    reserved_minor = l.reserved_minor + d.reserved,
    collected_minor = l.collected_minor,
    paid_out_minor = l.paid_out_minor,
    provider_fees_minor = l.provider_fees_minor,
    credited_minor = l.credited_minor,
    debited_minor = l.debited_minor,
    fx_in_minor = l.fx_in_minor,
    fx_out_minor = l.fx_out_minor,
    returned_minor = l.returned_minor
  FROM delta d JOIN position l ON l.app_id = d.app_id AND l.mode = d.mode AND l.currency = d.currency
  WHERE p.app_id = d.app_id AND p.mode = d.mode AND p.currency = d.currency
  RETURNING p.app_id
),
-- A collection credits its position when it settles: the row has to be there by then.
prepared AS (
  INSERT INTO float_positions (app_id, mode, currency) SELECT DISTINCT app_id, mode, currency FROM opened WHERE kind = 'collection'
  ORDER BY app_id, mode, currency ON CONFLICT DO NOTHING
),
told AS (
  INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
  SELECT app_id, event_id, mode, event_type, reference, event_body, at FROM opened WHERE event_id IS NOT NULL
  RETURNING app_id, id, mode, type, created_at
),
queued AS (
  INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
  SELECT e.app_id, e.id, e.mode, e.id, 'due', e.created_at, e.created_at
  FROM told e JOIN webhook_endpoints w ON w.app_id = e.app_id AND w.mode = e.mode AND w.enabled AND e.type = ANY (w.events)
)
SELECT v.ord, v.verdict, v.available,
  CASE
    WHEN (SELECT count(*) FROM linked) <> (SELECT count(*) FROM inserted) THEN refuse_commit('a key was not linked')
    WHEN (SELECT count(*) FROM moved) <> (SELECT count(*) FROM delta) THEN refuse_commit('a position was not moved')
  END AS proof
FROM verdict v ORDER BY v.ord`

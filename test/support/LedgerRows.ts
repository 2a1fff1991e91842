import type { Beneficiary } from "../../src/domain/Beneficiary.ts"
import { recordText } from "../../src/persistence/transactions/StoredRecord.ts"
import { type Books, storedWindow } from "./LedgerBooks.ts"

/** Of the digest of a record's history `ledger verify` has rules; a fold knows nothing of them. It comes first, and the padding depends on it. */
const withoutDigest = `regexp_replace(regexp_replace(record::text, '"lines":[{][^{}]*[}],', ''), ', +"kind"', ',"kind"')`
const unpadded = (text: string): string => text.replace(/, +"kind"/, ',"kind"')
const ms = (column: string) => `(extract(epoch FROM ${column}) * 1000)::bigint`
const amounts = [
  "available",
  "reserved",
  "collected",
  "paid_out",
  "provider_fees",
  "credited",
  "fx_in",
  "fx_out",
  "returned",
  "receivable"
] as const

/** A beneficiary as the work of its payout keeps it: the payout says whose it is and when. */
const savedFrom = ({ appId: _appId, createdAt: _createdAt, lastUsedAt: _lastUsedAt, mode: _mode, ...said }: Beneficiary) =>
  Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null))

/** The windows of a story that all tenants share. */
export const sharedWindows = `SELECT 'windows' AS name, json_build_array(app_id, mode, name, subject, ${ms("starts_at")}, used::text) AS row FROM counters
  WHERE used > 0 AND app_id = '' AND subject = $1`

/** Every row that a money step writes for one tenant. A window without a row is unused. */
export const everyRow = `
SELECT 'keys' AS name, json_build_array(app_id, key, state, reference, answer_status, convert_from(answer_body, 'UTF8')) AS row
  FROM idempotency_keys WHERE app_id = $1
UNION ALL SELECT 'payers', json_build_array(app_id, encode(party_hash, 'hex'), reference,
    (SELECT json_agg(k ORDER BY k) FROM jsonb_object_keys(recent) k)) FROM payer_locks WHERE app_id = $1
UNION ALL SELECT 'windows', json_build_array(app_id, mode, name, subject, ${ms("starts_at")}, used::text) FROM counters
  WHERE used > 0 AND app_id = $1
UNION ALL SELECT 'positions', json_build_array(app_id, currency, ${amounts.map((one) => `${one}_minor::text`).join(", ")}, debited_minor::text)
  FROM float_positions WHERE app_id = $1
UNION ALL SELECT 'transactions', json_build_array(app_id, reference, mode, kind, status, needs_review, provider, provider_reference, revision::text,
    ${withoutDigest}, encode(party_hash, 'hex'), (SELECT coalesce(json_agg(json_build_object('app_id', c.app_id, 'mode', c.mode, 'name', c.name, 'subject', c.subject,
      'starts_at', to_char(c.starts_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'amount', c.amount::text)), '[]')
      FROM counted_windows(app_id, mode, party_hash, counted) c), raw_request, raw_response, slots, ${ms("created_at")}) FROM transactions WHERE app_id = $1
UNION ALL SELECT 'work', json_build_array(app_id, reference, mode, ${ms("created_at")}, is_open, ${ms("next_poll_at")}, needs_review,
    encode(sealed_destination, 'hex'), beneficiary, lease_until) FROM open_work WHERE app_id = $1
UNION ALL SELECT 'journal', json_build_array(app_id, reference, revision::text, ${ms("at")}, actor, fact, note, status, slot, phase, currencies, accounts,
    (SELECT coalesce(json_agg(a::text), '[]') FROM unnest(amounts) a), record_digest IS NOT NULL, encode(event_digest, 'hex'), encode(answer_digest, 'hex'))
  FROM journal WHERE app_id = $1
UNION ALL SELECT 'names', json_build_array(concat_ws(' ', provider, mode, provider_reference, app_id, reference)) FROM provider_references WHERE app_id = $1
UNION ALL SELECT 'beneficiaries', json_build_array(app_id, encode(party_hash, 'hex'), id, ${ms("created_at")}, ${ms("last_used_at")},
    network, branch_code, account_name)
  FROM beneficiaries WHERE app_id = $1
UNION ALL SELECT 'events', json_build_array(app_id, id, type, reference, body, ${ms("created_at")}) FROM events WHERE app_id = $1
UNION ALL SELECT 'deliveries', json_build_array(d.app_id, d.id, ${ms("q.next_attempt_at")}) FROM deliveries d
  JOIN due_deliveries q ON q.app_id = d.app_id AND q.id = d.id AND d.event_id = d.id AND d.status = 'due' WHERE d.app_id = $1`

/** The same of the books, those of all tenants. */
export const rowsOf = (books: Books): Readonly<Record<string, ReadonlyArray<ReadonlyArray<unknown>>>> => ({
  keys: [...books.keys].map(([name, { answer, reference, state }]) => [
    name.split(" ")[0],
    name.split(" ").at(-1),
    state,
    reference,
    ...(answer ?? [null, null])
  ]),
  payers: [...books.payers].map(([name, { recent, reference }]) => [
    ...name.split(" "),
    reference,
    recent.length === 0 ? null : [...recent].sort()
  ]),
  windows: [...books.windows]
    .filter(([, used]) => used > 0n)
    .map(([name, used]) => {
      const [appId, mode, window, subject, startsAt] = name.split(" ")
      return [appId, mode, window, subject, Number(startsAt), String(used)]
    }),
  positions: [...books.positions].map(([name, position]) => [
    ...name.split(" "),
    ...amounts.map((one) => String(position.get(one) ?? 0n)),
    "0"
  ]),
  transactions: [...books.transactions].map(([reference, { counted, createdAt, partyHash, raw, record, revision, slots }]) => [
    record.appId,
    reference,
    record.mode,
    record.kind,
    record.status,
    record.needsReview,
    record.provider,
    record.providerReference,
    String(revision),
    unpadded(recordText(record)),
    partyHash,
    counted.map(storedWindow),
    ...raw,
    slots,
    createdAt
  ]),
  work: [...books.work].map(([reference, { beneficiary, isOpen, needsReview, nextPollAt, sealed }]) => {
    const stored = books.transactions.get(reference)
    return [
      stored?.record.appId,
      reference,
      "live",
      stored?.createdAt,
      isOpen,
      nextPollAt,
      needsReview,
      sealed,
      beneficiary === null ? null : savedFrom(beneficiary),
      null
    ]
  }),
  journal: books.journal,
  names: [...books.names].map((name) => [name]),
  beneficiaries: [...books.beneficiaries].map(([name, { accountName, at, branchCode, id, network, usedAt }]) => [
    ...name.split(" "),
    id,
    at,
    usedAt,
    network,
    branchCode,
    accountName
  ]),
  events: books.events,
  deliveries: books.deliveries
})

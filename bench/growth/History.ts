import { Schema } from "effect"
import { Client } from "pg"
import { LedgerRecord } from "../../src/domain/Exchange.ts"
import { transactionView } from "../../src/domain/View.ts"
import { success } from "../../src/http/Envelope.ts"
import type { Bench } from "../Cluster.ts"
import { settledPayout } from "../ledger/Payout.ts"

// A past, written straight into the tables: payouts that were opened and settled, with everything that each of them leaves for good.

export interface Past {
  readonly tenants: number
  /** Each has four postings: two of its reservation and two of its settlement. */
  readonly transactions: number
}

/** Half of it is older than what events are kept for. */
const DAYS = 60
const EVENTS_KEPT_DAYS = 30

const [APP, REFERENCE, AT] = ["tenant-of-it", "ZZZZZZZZZZZZZZZZZZZZZZZZZZ", 1_700_000_000_123]

const template = (text: string) =>
  `replace(replace(replace($q$${text}$q$, '${APP}', app_id), '${REFERENCE}', reference), '${AT}', (extract(epoch FROM at) * 1000)::bigint::text)`

/** References are spread like real ones; the rows come in the order of the keys, so that the indexes are filled quickly. */
const seed = ({ tenants, transactions }: Past) => `
CREATE UNLOGGED TABLE past AS
SELECT app_id, reference, now() - interval '${DAYS} days' * (1 - (row_number() OVER (ORDER BY app_id, reference))::float8 / ${transactions + 1}) AS at
FROM (
  SELECT 'tenant-' || n % ${tenants} AS app_id, upper(substr(translate(md5('a' || n) || md5('b' || n), 'ilou', 'jkmn'), 1, 26)) AS reference
  FROM generate_series(1, ${transactions}) n
) AS made ORDER BY app_id, reference`

const recordText = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(LedgerRecord)))

const records = () => {
  const settled = settledPayout(APP, REFERENCE, AT)
  return `
INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, provider_reference, revision, record, party_hash, created_at)
SELECT app_id, reference, 'live', 'payout', 'successful', false, '${settled.provider}', 'P' || reference, 2, (${template(recordText(settled))})::json,
  sha256(reference::bytea), at FROM past`
}

const keys = () => {
  const answer = success(201, transactionView(settledPayout(APP, REFERENCE, AT)))
  return `
INSERT INTO idempotency_keys (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, reference, answer_status, answer_body, created_at)
SELECT app_id, 'live', 'POST /v1/payouts', reference, sha256('a'), nextval('fences'), 'done', at, reference, ${answer.status},
  convert_to(${template(answer.body)}, 'UTF8'), at FROM past`
}

const journal = `
INSERT INTO journal (app_id, reference, slot, mode, phase, at)
SELECT app_id, reference, slot, 'live', phase, at FROM past CROSS JOIN (VALUES ('close', 'settle'), ('open', 'reserve')) AS e(slot, phase)`

const postings = `
INSERT INTO postings (app_id, reference, slot, currency, account, mode, amount_minor, at)
SELECT app_id, reference, slot, 'UGX', account, 'live', amount, at FROM past
CROSS JOIN (VALUES ('close', 'paid_out', 10000), ('close', 'reserved', -10000), ('open', 'available', -10000), ('open', 'reserved', 10000))
  AS l(slot, account, amount)`

const history = `
INSERT INTO transaction_history (app_id, reference, at, actor, fact, note, status)
SELECT app_id, reference, at, 'request', fact, '', status FROM past CROSS JOIN (VALUES ('Opened', 'pending'), ('Succeeded', 'successful')) AS h(fact, status)`

const events = () => `
INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
SELECT app_id, reference, 'live', 'payout.successful', reference, ${template(success(200, transactionView(settledPayout(APP, REFERENCE, AT))).body)}, at
FROM past WHERE at > now() - interval '${EVENTS_KEPT_DAYS} days' - interval '2 hours'`

const paidOut = `
UPDATE float_positions p SET available_minor = available_minor - s.paid, paid_out_minor = s.paid
FROM (SELECT app_id, count(*) * 10000 AS paid FROM past GROUP BY app_id) s WHERE p.app_id = s.app_id`

const BY_REFERENCE = "transactions_by_reference"

/** Writes it, on two connections at once; the tenants with their float are there. Answers how many seconds it took. */
export const givenPast = async (bench: Bench, past: Past): Promise<number> => {
  const started = performance.now()
  const [byReference] = await bench.query("SELECT indexdef FROM pg_indexes WHERE indexname = $1", [BY_REFERENCE])
  await bench.query(seed(past))
  // The one index in whose order the rows do not come.
  await bench.query(`DROP INDEX ${BY_REFERENCE}`)
  await bench.query("UPDATE events_kept SET since = now() - $1::interval", [`${EVENTS_KEPT_DAYS} days`])
  await Promise.all([
    inTurn(bench, [postings, history, paidOut]),
    inTurn(bench, [records(), `${String(byReference?.["indexdef"])}`, keys(), journal, events()])
  ])
  await bench.query("DROP TABLE past")
  await bench.query("VACUUM (ANALYZE)")
  await bench.query("CHECKPOINT")
  return (performance.now() - started) / 1000
}

const inTurn = async ({ url }: Bench, statements: ReadonlyArray<string>): Promise<void> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

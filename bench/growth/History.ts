import { Effect, Redacted } from "effect"
import { Client } from "pg"
import { AppId } from "../../src/domain/Ids.ts"
import { transactionView } from "../../src/domain/View.ts"
import { successEnvelope } from "../../src/http/api/Envelope.ts"
import { recordText } from "../../src/persistence/transactions/StoredRecord.ts"
import { webhookSecret } from "../../src/persistence/webhooks/WebhookEndpointsPg.ts"
import { Vault } from "../../src/services/ports/Vault.ts"
import type { Bench } from "../Cluster.ts"
import { settledPayout } from "../ledger/Payout.ts"
import { openPorts } from "./AllPorts.ts"

// A past, written straight into the tables: payouts that were opened, settled and told of, with everything that each of them leaves behind
// for as long as it is kept, and a little longer, so that there is something to remove.

/** Payouts number `from` up to `to`, which is left out. Each has four postings: two of its reservation and two of its settlement. */
export interface Past {
  readonly tenants: number
  readonly from: number
  readonly to: number
}

const DAYS = 100
const EVENTS_DAYS = 34
const WINDOWS_DAYS = 10
const RECIPIENTS_A_TENANT = 100
const NONCES = 50_000

const [APP, REFERENCE, AT] = ["tenant-of-it", "ZZZZZZZZZZZZZZZZZZZZZZZZZZ", 1_700_000_000_123]

const template = (text: string) =>
  `replace(replace(replace($q$${text}$q$, '${APP}', app_id), '${REFERENCE}', reference), '${AT}', (extract(epoch FROM at) * 1000)::bigint::text)`

/**
 * Spread over the days as over the tenants; they come day by day, as what is found by time needs it, and within a day in the order of their keys, so
 * that the indexes are filled quickly.
 */
const seed = ({ from, tenants, to }: Past) => `
CREATE UNLOGGED TABLE past AS
SELECT 'tenant-' || tenant AS app_id, upper(substr(md5('a' || n) || md5('b' || n), 1, 26)) AS reference,
  sha256(convert_to(tenant || ' ' || n / ${tenants} % ${RECIPIENTS_A_TENANT}, 'UTF8')) AS party_hash, at,
  at > date_trunc('day', now(), 'UTC') - interval '${WINDOWS_DAYS} days' AS is_counted
FROM (
  SELECT n, n % ${tenants} AS tenant, date_trunc('milliseconds', now() - interval '${DAYS} days' * ((hashint8(n) & 2147483647) / 2147483648.0)) AS at
  FROM generate_series(${from}, ${to - 1}) n
) AS made ORDER BY date_trunc('day', at), 1, 2`

const since = (days: number) => `at > now() - interval '${days} days'`

const records = () => {
  const settled = settledPayout(APP, REFERENCE, AT)
  return `
INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, provider_reference, revision, record, party_hash, created_at,
  counted, slots)
SELECT app_id, reference, 'live', 'payout', 'successful', false, '${settled.provider}', 'P' || reference, 2, (${template(recordText(settled))})::json,
  party_hash, at, CASE WHEN is_counted THEN (
    SELECT json_agg(json_strip_nulls(json_build_object('name', w.name, 'subject', CASE WHEN w.subject <> '' THEN '#' END, 'starts_at', w.starts_at)))
    FROM ${countedIn}) ELSE '[]' END, '{open,close}' FROM past`
}

const providerReferences = `
INSERT INTO provider_references (provider, mode, provider_reference, app_id, reference, written_at)
SELECT '${settledPayout(APP, REFERENCE, AT).provider}', 'live', 'P' || reference, app_id, reference, at FROM past ORDER BY reference`

/** The windows in which a payout is counted. */
const countedIn = `(SELECT 'payout:' || w.name AS name, CASE WHEN w.own THEN '' ELSE encode(party_hash, 'hex') END AS subject,
    date_trunc(w.unit, at, 'UTC') AS starts_at
  FROM (VALUES ('hour', 'hour', true), ('day', 'day', true), ('destination', 'hour', false), ('destination_day', 'day', false)) AS w(name, unit, own)) AS w`

const keys = () => {
  const answer = answered()
  return `
INSERT INTO idempotency_keys (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, reference, answer_status, answer_body, created_at)
SELECT app_id, 'live', 'POST /v1/payouts', reference, sha256('a'), nextval('fences'), 'done', at, reference, ${answer.status},
  convert_to(${template(answer.body)}, 'UTF8'), at FROM past`
}

const journal = () => `
INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, slot, phase, currencies, accounts, amounts,
  record_digest, event_digest, answer_digest)
SELECT app_id, reference, 1, 'live', at, 'request', 'Opened', '', 'pending', 'open', 'reserve', '{UGX,UGX}'::text[], '{available,reserved}'::text[],
  '{-10000,10000}'::bigint[], sha256('opened'), ${told("reverse(reference)", "payout.pending")}, NULL FROM past
UNION ALL
SELECT app_id, reference, 2, 'live', at, 'request', 'Succeeded', '', 'successful', 'close', 'settle', '{UGX,UGX}', '{reserved,paid_out}',
  '{-10000,10000}', record_digest(${template(recordText(settledPayout(APP, REFERENCE, AT)))}), ${told("reference", "payout.successful")},
  answer_digest('POST /v1/payouts', reference, 201, convert_to(${template(answered().body)}, 'UTF8')) FROM past`

const tellings = "(VALUES ('payout.pending', reverse(reference)), ('payout.successful', reference)) AS t(type, id)"

const events = () => `
INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
SELECT app_id, id, 'live', type, reference, ${eventText()}, at
FROM past CROSS JOIN LATERAL ${tellings} WHERE ${since(EVENTS_DAYS)}`

const answered = () => successEnvelope(201, transactionView(settledPayout(APP, REFERENCE, AT)))
const eventText = () => template(successEnvelope(200, transactionView(settledPayout(APP, REFERENCE, AT))).body)
const told = (id: string, type: string) => `event_digest(${id}, '${type}', ${eventText()})`

const deliveries = `
INSERT INTO deliveries (app_id, id, mode, event_id, status, attempts, created_at, completed_at)
SELECT app_id, id, 'live', id, 'delivered', 1, at, at FROM past CROSS JOIN LATERAL ${tellings} WHERE ${since(EVENTS_DAYS)}`

const attempts = `
INSERT INTO delivery_attempts (app_id, delivery_id, at, duration_ms, status, excerpt)
SELECT app_id, id, at, 80, 204, '' FROM past CROSS JOIN LATERAL ${tellings} WHERE ${since(EVENTS_DAYS)}`

const callbacks = `
INSERT INTO provider_inbox (id, provider, mode, digest, received_at, reference, provider_reference, status, matched_reference)
SELECT reference, 'eversend', 'live', sha256(convert_to(reference, 'UTF8')), at, reference, 'P' || reference, 'done', reference FROM past ORDER BY reference`

const beneficiaries = `
INSERT INTO beneficiaries (app_id, id, mode, party_hash, type, country, currency, network, masked_destination, created_at, last_used_at)
SELECT app_id, min(reference), 'live', party_hash, 'momo', 'UG', 'UGX', 'MTN', '••••0001', min(at), max(at) FROM past GROUP BY app_id, party_hash
ON CONFLICT DO NOTHING`

const windows = `
INSERT INTO counters (app_id, mode, name, subject, starts_at, used)
SELECT app_id, 'live', w.name, w.subject, w.starts_at, count(*) FROM past CROSS JOIN LATERAL ${countedIn}
WHERE is_counted GROUP BY 1, 3, 4, 5 ON CONFLICT (app_id, mode, name, subject, starts_at) DO UPDATE SET used = counters.used + EXCLUDED.used`

const nonces = ({ tenants }: Past) => `
INSERT INTO nonces (app_id, key_id, nonce, expires_at)
SELECT 'tenant-' || n % ${tenants}, 'key', md5('n' || n), now() + interval '1 hour' FROM generate_series(1, ${NONCES}) n ON CONFLICT DO NOTHING`

const paidOut = `
UPDATE float_positions p SET available_minor = available_minor - s.paid, paid_out_minor = paid_out_minor + s.paid
FROM (SELECT app_id, count(*) * 10000 AS paid FROM past GROUP BY app_id) s WHERE p.app_id = s.app_id`

/** The months in which it lies, as upkeep would have made them: what a new installation has reaches from the beginning to next month. */
export const givenMonths = ({ query }: Bench) =>
  query(`DO $months$
    DECLARE t record; ahead int; month timestamp;
    BEGIN
      FOR t IN SELECT * FROM (VALUES ('journal', 'at'), ('events', 'created_at'), ('deliveries', 'created_at'),
        ('delivery_attempts', 'at')) AS p(parent, key) LOOP
        EXECUTE format('DROP TABLE %I', t.parent || '_first');
        FOR ahead IN -${Math.ceil(DAYS / 28)}..1 LOOP
          month := date_trunc('month', now() AT TIME ZONE 'UTC') + ahead * interval '1 month';
          PERFORM make_partition(t.parent, t.key, month AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
        END LOOP;
      END LOOP;
    END $months$`)

/** An endpoint for every tenant, so that each event is to be delivered. */
export const givenEndpoints = async (bench: Bench, tenants: number): Promise<void> => {
  const ports = openPorts(bench)
  const names = Array.from({ length: tenants }, (_, at) => AppId.make(`tenant-${at}`))
  const sealed = await ports.runPromise(
    Effect.flatMap(Vault, (vault) =>
      Effect.forEach(names, (name) => vault.seal(webhookSecret(name, "live"), Redacted.make("whsec_of_a_tenant")))
    )
  )
  await ports.dispose()
  await bench.query(
    `INSERT INTO webhook_endpoints (app_id, mode, url, events, enabled, secret_sealed, created_at, updated_at)
      SELECT app_id, 'live', 'https://tenant.example/', '{payout.pending,payout.successful}', true, secret, now(), now()
      FROM unnest($1::text[], $2::bytea[]) AS e(app_id, secret)`,
    [names, sealed.map((secret) => Buffer.from(secret))]
  )
}

/** What an operator leaves who credits a tenant, as `ledger verify` wants it. A gateway has to have made the key of the audit log before. */
export const givenAuditRows = ({ query }: Bench) =>
  query(
    `INSERT INTO audit_log (sequence, at, actor, action, subject, details, hash)
      SELECT row_number() OVER (ORDER BY app_id), at, 'bench', 'float credit', app_id, json_build_object('app_id', app_id, 'mode', mode,
        'external_id', external_id, 'direction', direction, 'currency', currency, 'amount_minor', amount_minor::text, 'reference', reference,
        'note', note), ''
      FROM float_adjustments`
  )

/** Writes it, on two connections at once; the tenants with their float are there. Answers how many seconds it took. */
export const givenPast = async (bench: Bench, past: Past): Promise<number> => {
  const started = performance.now()
  await bench.query(seed(past))
  const indexes = await withoutIndexes(bench)
  await bench.query("UPDATE events_kept SET since = now() - $1::interval", [`${EVENTS_DAYS} days`])
  // A page that was filled with claims to a fifth is full once they have their answers, and these rows have them.
  await bench.query("ALTER TABLE idempotency_keys SET (fillfactor = 100)")
  await Promise.all([
    inTurn(bench, [journal(), paidOut, deliveries, attempts, windows]),
    inTurn(bench, [records(), providerReferences, keys(), events(), callbacks, beneficiaries, nonces(past)])
  ])
  await bench.query("ALTER TABLE idempotency_keys SET (fillfactor = 20)")
  await inTwo(bench, indexes)
  await bench.query("DROP TABLE past")
  // As autovacuum does it: a table of partitions is never analysed itself.
  const tables = await bench.query(
    "SELECT quote_ident(relname) AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY pg_relation_size(oid) DESC"
  )
  await inTwo(
    bench,
    tables.map(({ name }) => `VACUUM (ANALYZE) ${name}`)
  )
  return (performance.now() - started) / 1000
}

/** Takes away every index that is no key, and answers the statements that make them again. */
const withoutIndexes = async ({ query }: Bench): Promise<ReadonlyArray<string>> => {
  const rows = await query(`
    SELECT i.indexrelid::regclass::text AS name, replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') AS definition
    FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid AND NOT x.relispartition AND x.relnamespace = 'public'::regnamespace
    WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
      AND i.indrelid::regclass::text IN ('transactions', 'idempotency_keys', 'events', 'deliveries', 'provider_inbox', 'beneficiaries', 'counters')
      AND i.indexrelid::regclass::text <> 'beneficiaries_by_party'`)
  for (const { name } of rows) await query(`DROP INDEX ${name}`)
  return rows.map(({ definition }) => String(definition))
}

const inTwo = (bench: Bench, statements: ReadonlyArray<string>) =>
  Promise.all(
    [0, 1].map((half) =>
      inTurn(
        bench,
        statements.filter((_, place) => place % 2 === half)
      )
    )
  )

const inTurn = async ({ url }: Bench, statements: ReadonlyArray<string>): Promise<void> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query("SET maintenance_work_mem = '256MB'; SET work_mem = '128MB'")
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

import { createHash, randomUUID } from "node:crypto"
import { Effect } from "effect"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { APPLICATION_NAME } from "../../src/persistence/Database.ts"
import { Beneficiaries } from "../../src/services/ports/Beneficiaries.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { GatewayStatus } from "../../src/services/ports/GatewayStatus.ts"
import { type ClaimRequest, Idempotency } from "../../src/services/ports/Idempotency.ts"
import { Nonces } from "../../src/services/ports/Nonces.ts"
import { PartyHashRetention } from "../../src/services/ports/PartyHashRetention.ts"
import { ProviderInbox } from "../../src/services/ports/ProviderInbox.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { VelocityLimits } from "../../src/services/ports/VelocityLimits.ts"
import { WebhookDeliveries } from "../../src/services/ports/WebhookDeliveries.ts"
import { WebhookOutbox } from "../../src/services/ports/WebhookOutbox.ts"
import type { Bench } from "../Cluster.ts"
import { expectTag, givenPayouts, type Steps } from "../ledger/Payout.ts"
import { median } from "../Report.ts"
import { openPorts } from "./AllPorts.ts"

// What the statements of every day read of the large tables, by the server's own count.

/** PostgreSQL plans a prepared statement for its values five times; then it may keep a plan. */
const PLANNED = 5
const TIMES = 8
/** Of a smaller table it may pay to read all of it. */
const LARGE = 100_000
const BATCH = 256
const LOOKS = 500
const DAY_MS = 24 * 3_600_000
const A_STEP = 1_000

interface Stored {
  readonly appId: AppId
  readonly reference: Reference
}

const arriving = (appId: AppId, key: string, now: number, windows: ClaimRequest["windows"] = []): ClaimRequest => ({
  nonce: { caller: { appId, keyId: "key", mode: "live", role: "tenant" }, nonce: randomUUID(), expiresAt: now + DAY_MS },
  scope: { appId, mode: "live", endpoint: "POST /v1/payouts", key },
  fingerprint: new Uint8Array(32),
  windows
})

/** Everything that happens again and again, by its name; each is given how often it happened before. */
const everyDay = ({ appId, reference }: Stored, payouts: ReadonlyArray<Steps>, now: number) => ({
  "claim a key": (time: number) =>
    Effect.flatMap(Idempotency, ({ claim }) => claim(arriving(appId, `new-${now}-${time}`, now, payouts[time]?.open.counters))),
  "answer a key again": () =>
    Effect.flatMap(Idempotency, ({ claim }) =>
      claim({ ...arriving(appId, reference, now), fingerprint: createHash("sha256").update("a").digest() })
    ),
  "spend a nonce": () => Effect.flatMap(Nonces, ({ spend }) => spend(arriving(appId, "", now).nonce)),
  "open and apply": (time: number) =>
    Effect.flatMap(FloatLedger, (ledger) =>
      Effect.forEach(
        payouts.slice(time * BATCH, (time + 1) * BATCH),
        ({ apply, open }) =>
          Effect.andThen(
            Effect.flatMap(ledger.open(open), expectTag("Opened")),
            Effect.suspend(() => Effect.flatMap(ledger.apply(apply), expectTag("Applied")))
          ),
        { concurrency: "unbounded", discard: true }
      )
    ),
  "read by reference": () => Effect.flatMap(Transactions, ({ find }) => find(appId, "live", reference)),
  "read for a callback": () =>
    Effect.flatMap(Transactions, ({ byProviderReference, byReference, history }) =>
      Effect.all([byReference(reference), byProviderReference("eversend", "live", `P${reference}`), history(reference)])
    ),
  "list beneficiaries": () => Effect.flatMap(Beneficiaries, ({ list }) => list(appId, "live", 20, null)),
  "list deliveries": () =>
    Effect.flatMap(WebhookDeliveries, ({ list }) =>
      list({ appId, mode: "live", endpoint: null, status: null, limit: 20, after: null })
    ),
  "list parked deliveries": () =>
    Effect.flatMap(WebhookDeliveries, ({ list }) =>
      list({ appId, mode: "live", endpoint: null, status: "parked", limit: 20, after: null })
    ),
  "due transactions": () => Effect.flatMap(Transactions, ({ claimDue }) => claimDue(now, 100, DAY_MS)),
  "due deliveries": () => Effect.flatMap(WebhookOutbox, ({ claimDue }) => claimDue(now, 64, 8, DAY_MS)),
  "due callbacks": () => Effect.flatMap(ProviderInbox, ({ claimDue }) => claimDue(now, 100, DAY_MS)),
  "store a callback": (time: number) =>
    Effect.flatMap(ProviderInbox, ({ store }) => {
      const digest = createHash("sha256").update(`${now} ${time}`).digest()
      const id = Reference.make(digest.toString("hex").toUpperCase().slice(0, 26))
      const hint = { reference, providerReference: null }
      return store({ id, provider: "eversend", mode: "live", receivedAt: now, digest, hint }, now)
    }),
  "how things stand": () => Effect.flatMap(GatewayStatus, ({ read }) => read),
  "remove nonces": () => Effect.flatMap(Nonces, ({ prune }) => prune(now, A_STEP)),
  "remove keys": () => Effect.flatMap(Idempotency, ({ prune }) => prune(now - 90 * DAY_MS, A_STEP)),
  "remove windows": () => Effect.flatMap(VelocityLimits, ({ prune }) => prune(now - 8 * DAY_MS, A_STEP)),
  "remove events": () => Effect.flatMap(WebhookDeliveries, ({ purge }) => purge(now - 31 * DAY_MS, null, A_STEP)),
  "remove callbacks": () => Effect.flatMap(ProviderInbox, ({ prune }) => prune(now - 90 * DAY_MS, A_STEP)),
  "forget numbers": () => Effect.flatMap(PartyHashRetention, ({ prune }) => prune(now - 90 * DAY_MS, A_STEP))
})

/** How long each takes and how many rows it reads of large tables; one that reads as many as such a table has, again and again, is an error. */
export const everyDayReads = async (bench: Bench, tenants: number) => {
  // What was measured before is delivered by now: a claim looks at all that is due, and that would be most of a small table.
  await bench.query(
    `WITH due AS (DELETE FROM due_deliveries RETURNING *)\n    UPDATE deliveries d SET status = 'delivered', next_attempt_at = NULL FROM due WHERE d.app_id = due.app_id AND d.id = due.id`
  )
  // As autovacuum does it within a minute: until then a BRIN index leads to everything that was written last.
  await bench.query(
    `SELECT brin_summarize_new_values(x.oid) FROM pg_class x JOIN pg_am a ON a.oid = x.relam
      WHERE a.amname = 'brin' AND x.relkind = 'i' AND x.relnamespace = 'public'::regnamespace`
  )
  const [row] = await bench.query(
    "SELECT app_id, reference, (extract(epoch FROM now()) * 1000)::bigint::text AS now FROM transactions LIMIT 1"
  )
  const stored = { appId: AppId.make(String(row?.["app_id"])), reference: Reference.make(String(row?.["reference"])) }
  const payouts = await givenPayouts(bench, TIMES * BATCH, tenants)
  const found: Record<string, { readonly ms: number; readonly rows: number; readonly of: ReadonlyArray<string> }> = {}
  for (const [name, happening] of Object.entries(everyDay(stored, payouts, Number(row?.["now"])))) {
    const before = await rowsRead(bench)
    const took: Array<number> = []
    const others = await connections(bench)
    const ports = openPorts(bench)
    for (let time = 0; time < TIMES; time++) {
      const started = performance.now()
      await ports.runPromise(happening(time))
      took.push(performance.now() - started)
    }
    await ports.dispose()
    // What a connection has counted is told when it ends.
    for (let looks = 0; looks < LOOKS && (await connections(bench)) > others; looks++)
      await new Promise((resolve) => setTimeout(resolve, 10))
    const after = await rowsRead(bench)
    const read = after
      .map((table) => ({
        ...table,
        read: table.read - (before.find(({ name: same }) => same === table.name)?.read ?? table.read)
      }))
      .filter((table) => table.read > 0)
    const whole = read.filter((table) => table.read >= (TIMES - PLANNED) * table.rows)
    if (whole.length > 0) throw new Error(`${name} reads the whole of ${whole.map((table) => table.name).join(", ")}`)
    found[name] = {
      ms: Math.round(median(took) * 10) / 10,
      rows: Math.round(read.reduce((sum, table) => sum + table.read, 0) / TIMES),
      of: read.map((table) => table.name)
    }
  }
  return found
}

/**
 * Of each large table, each partition for itself, how many of its rows were read since the server began to count. A BRIN index counts ten for each page
 * of the table that it names, however many rows that page has: what it leads to is counted by the rows fetched.
 */
const rowsRead = async ({ query }: Bench) => {
  const rows = await query(
    `SELECT t.relname::text AS name, c.reltuples::float8 AS rows,
        (t.seq_tup_read + greatest(t.idx_tup_fetch, (SELECT coalesce(sum(i.idx_tup_read), 0) FROM pg_stat_user_indexes i
          JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am a ON a.oid = x.relam WHERE i.relid = t.relid AND a.amname <> 'brin')))::float8 AS read
      FROM pg_stat_user_tables t JOIN pg_class c ON c.oid = t.relid WHERE c.reltuples >= $1 ORDER BY 1`,
    [LARGE]
  )
  return rows.map(({ name, read, rows: count }) => ({ name: String(name), rows: Number(count), read: Number(read) }))
}

const connections = async ({ query }: Bench): Promise<number> => {
  const [row] = await query(
    "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1",
    [APPLICATION_NAME]
  )
  return Number(row?.["count"])
}

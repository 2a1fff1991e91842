import { Effect, Fiber } from "effect"
import { makeRetentionRound } from "../../src/services/DataRetention.ts"
import { Partitions } from "../../src/services/ports/Partitions.ts"
import type { Bench } from "../Cluster.ts"
import { openPorts } from "./AllPorts.ts"

const NONCES = 300_000

/** What the gateway removes besides what lies in the past: nonces that have had their time. A month of events goes when all of it arrived. */
const givenOld = async ({ query }: Bench) => {
  await query(
    "INSERT INTO nonces (app_id, key_id, nonce, expires_at) SELECT 'tenant-' || n % 1000, 'key', 'old-' || n, now() - interval '1 hour' FROM generate_series(1, $1::int) n",
    [NONCES]
  )
  await query(
    `WITH due AS (DELETE FROM due_deliveries RETURNING *)\n    UPDATE deliveries d SET status = 'delivered', next_attempt_at = NULL FROM due WHERE d.app_id = due.app_id AND d.id = due.id`
  )
}

/**
 * Measures while the gateway's own sweeper removes what is old, one round after another, without the half minute between them; and last
 * month's events go, as if that month had ended long ago.
 */
export const besideSweeper = async <A>(bench: Bench, measure: () => Promise<A>) => {
  await givenOld(bench)
  const before = await left(bench)
  const ports = openPorts(bench)
  try {
    const sweeping = ports.runFork(
      Effect.gen(function* () {
        const [{ retire }, round] = [yield* Partitions, yield* makeRetentionRound]
        // It gives way to whoever holds that month, and is tried again.
        const retiring = Effect.forever(Effect.delay(retire(Date.now()), "100 millis"))
        return yield* Effect.all([retiring, Effect.forever(round)], { concurrency: 2 })
      })
    )
    const result = await measure()
    await ports.runPromise(Fiber.interrupt(sweeping))
    const after = await left(bench)
    return {
      result,
      removed: Object.fromEntries(Object.entries(before).map(([what, rows]) => [what, rows - (after[what] ?? 0)]))
    }
  } finally {
    await ports.dispose()
  }
}

/** How many rows there are of each thing that is removed. */
const left = async ({ query }: Bench): Promise<Readonly<Record<string, number>>> => {
  const [row] = await query(`SELECT
    (SELECT count(*) FROM nonces WHERE expires_at < now())::int AS nonces,
    (SELECT count(*) FROM idempotency_keys WHERE created_at < now() - interval '90 days')::int AS keys,
    (SELECT count(*) FROM counters WHERE starts_at < now() - interval '8 days')::int AS windows,
    (SELECT count(*) FROM events WHERE created_at < date_trunc('month', now(), 'UTC'))::int AS events,
    (SELECT count(*) FROM provider_inbox WHERE received_at < now() - interval '90 days')::int AS callbacks,
    (SELECT count(*) FROM transactions WHERE party_hash IS NOT NULL AND created_at < now() - interval '90 days')::int AS numbers`)
  return Object.fromEntries(Object.entries(row ?? {}).map(([what, rows]) => [what, Number(rows)]))
}

import { Effect, Layer, Redacted } from "effect"
import { Database } from "../../src/persistence/Database.ts"
import { LimitsPg } from "../../src/persistence/LimitsPg.ts"
import { NoncesPg } from "../../src/persistence/NoncesPg.ts"
import { Limits } from "../../src/services/ports/Limits.ts"
import { Nonces } from "../../src/services/ports/Nonces.ts"
import type { Bench } from "../Cluster.ts"

/** As the gateway's sweeper: so many rows a step. */
const A_STEP = 10_000
const ROWS = 300_000

/** Nonces and windows that have had their time. */
const givenOld = async ({ query }: Bench): Promise<void> => {
  await query(
    "INSERT INTO nonces (app_id, key_id, nonce, expires_at) SELECT 'tenant-' || n % 1000, 'key', 'old-' || n, now() - interval '1 hour' FROM generate_series(1, $1::int) n",
    [ROWS]
  )
  await query(
    `INSERT INTO counters (app_id, mode, name, subject, starts_at)
      SELECT 'tenant-' || n % 1000, 'live', 'payout:destination', 'old-' || n, now() - interval '9 days' FROM generate_series(1, $1::int) n`,
    [ROWS]
  )
}

/** Measures while step after step removes old rows, faster than the gateway ever does it: it pauses between two steps. */
export const beside = async <A>(
  bench: Bench,
  measure: () => Promise<A>
): Promise<{ readonly result: A; readonly removed: number }> => {
  await givenOld(bench)
  const database = Database.layer({ url: Redacted.make(bench.url) })
  return Effect.gen(function* () {
    const [nonces, limits] = [yield* Nonces, yield* Limits]
    let removed = 0
    const now = Date.now()
    const step = Effect.gen(function* () {
      removed += yield* nonces.sweep(now, A_STEP)
      removed += yield* limits.sweep(now - 8 * 24 * 3_600_000, A_STEP)
    })
    yield* Effect.forkChild(Effect.forever(Effect.andThen(step, Effect.sleep("100 millis"))))
    const result = yield* Effect.promise(measure)
    return { result, removed }
  }).pipe(Effect.provide(Layer.provide(Layer.merge(NoncesPg, LimitsPg), database)), Effect.runPromise)
}

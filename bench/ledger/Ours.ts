import { Effect, Layer, ManagedRuntime, Redacted, References } from "effect"
import { Database } from "../../src/persistence/Database.ts"
import { FloatLedgerPg } from "../../src/persistence/ledger/FloatLedgerPg.ts"
import { RandomSourceLive } from "../../src/persistence/vault/RandomSourceLive.ts"
import { VaultPg } from "../../src/persistence/vault/VaultPg.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import type { Bench } from "../Cluster.ts"
import { expectTag, type Steps } from "./Payout.ts"

/** Seals nothing but what is measured here. */
const MASTER_KEY = Redacted.make(Buffer.alloc(32, 1).toString("base64"))

/** The ledger as one gateway process has it: its pool, its batches. */
export const openLedger = (bench: Bench) => {
  const runtime = ManagedRuntime.make(
    FloatLedgerPg.pipe(
      Layer.provideMerge(VaultPg.layer(MASTER_KEY)),
      Layer.provideMerge(Layer.merge(Database.layer({ url: Redacted.make(bench.url) }), RandomSourceLive)),
      Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Warn"))
    )
  )
  /** Milliseconds for all of them, with so many callers of whom each waits for its own step before it takes the next. */
  const commit = (payouts: ReadonlyArray<Steps>, callers: number, latencies?: Array<number>): Promise<number> =>
    runtime.runPromise(
      Effect.gen(function* () {
        const ledger = yield* FloatLedger
        const started = performance.now()
        yield* Effect.forEach(
          payouts,
          ({ apply, open }) => {
            const asked = performance.now()
            return ledger.open(open).pipe(
              Effect.flatMap(expectTag("Opened")),
              Effect.andThen(Effect.suspend(() => ledger.apply(apply))),
              Effect.flatMap(expectTag("Applied")),
              Effect.tap(() => Effect.sync(() => latencies?.push(performance.now() - asked)))
            )
          },
          { concurrency: callers, discard: true }
        )
        return performance.now() - started
      })
    )
  return { commit, close: () => runtime.dispose() }
}

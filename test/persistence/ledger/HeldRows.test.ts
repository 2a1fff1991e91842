import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, Reference } from "../../../src/domain/Ids.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { VelocityLimitsPg } from "../../../src/persistence/requests/VelocityLimitsPg.ts"
import { BeneficiariesPg } from "../../../src/persistence/transactions/BeneficiariesPg.ts"
import { PartyHashRetentionPg } from "../../../src/persistence/vault/PartyHashRetentionPg.ts"
import { VaultPg } from "../../../src/persistence/vault/VaultPg.ts"
import { Beneficiaries } from "../../../src/services/ports/Beneficiaries.ts"
import { PartyHashRetention } from "../../../src/services/ports/PartyHashRetention.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { appId, given, openOne } from "../../support/LedgerSteps.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { auditEntry, givenDatabase, masterKey } from "../../support/TestDatabase.ts"

// What sweeps and purges do beside somebody who holds some of their rows.

const HOUR = 3_600_000
const ports = Layer.mergeAll(VelocityLimitsPg, PartyHashRetentionPg, BeneficiariesPg)

const givenPorts = (url: Redacted.Redacted) =>
  Layer.build(ports.pipe(Layer.provideMerge(VaultPg.layer(masterKey)), Layer.provideMerge(Database.layer({ url })), Layer.fresh))

/** Runs `body` while another connection holds what `lock` selects. */
const whileHeld = <A, E, R>(lock: string, body: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const held = yield* Deferred.make<void>()
    const done = yield* Deferred.make<void>()
    const holder = yield* sql
      .withTransaction(
        sql.unsafe(lock).pipe(Effect.andThen(Deferred.succeed(held, undefined)), Effect.andThen(Deferred.await(done)))
      )
      .pipe(Effect.forkChild)
    yield* Deferred.await(held)
    const result = yield* Effect.ensuring(body, Deferred.succeed(done, undefined))
    yield* Fiber.join(holder)
    return result
  })

it.live("the removal of ended windows skips a locked one and leaves it for the next round", () =>
  Effect.gen(function* () {
    const node = yield* givenPorts(yield* givenDatabase)
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { prune } = yield* VelocityLimits
      yield* sql`INSERT INTO counters (app_id, mode, name, subject, starts_at)
        SELECT 'acme', 'live', 'hour', n::text, to_timestamp(n) FROM generate_series(1, 5) AS n`
      expect(yield* whileHeld("SELECT 1 FROM counters WHERE subject = '3' FOR UPDATE", prune(NOON, 10))).toBe(4)
      expect(yield* prune(NOON, 10)).toBe(1)
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.live("the removal of codes of closed charges skips locked ones and keeps to its bound", () =>
  Effect.gen(function* () {
    const node = yield* givenPorts(yield* givenDatabase)
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { prune } = yield* PartyHashRetention
      yield* sql`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
        SELECT 'acme', n::text, 'live', 'collection', 'failed', false, 'eversend', 1, '{}', to_timestamp(n) FROM generate_series(1, 5) AS n`
      yield* sql`INSERT INTO charge_codes (app_id, reference) SELECT 'acme', n::text FROM generate_series(1, 5) AS n`
      expect(yield* whileHeld("SELECT 1 FROM charge_codes WHERE reference = '3' FOR UPDATE", prune(NOON, 3))).toBe(3)
      expect(yield* prune(NOON, 3)).toBe(2)
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.live("the removal of hashes comes back to a transaction that was locked, however far it has got meanwhile", () =>
  Effect.gen(function* () {
    const node = yield* givenPorts(yield* givenDatabase)
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { prune } = yield* PartyHashRetention
      const given = (first: number, last: number) =>
        sql`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, party_hash, created_at)
          SELECT 'acme', n::text, 'live', 'payout', 'failed', false, 'eversend', 1, '{}', 'hash', to_timestamp(n)
          FROM generate_series(${first}::int, ${last}::int) AS n`
      yield* given(1, 5)
      expect(yield* whileHeld("SELECT 1 FROM transactions WHERE reference = '2' FOR UPDATE", prune(NOON - HOUR, 10))).toBe(4)
      expect(yield* prune(NOON - HOUR, 10)).toBe(1)
      expect(yield* sql`SELECT 1 FROM kept_since WHERE what = 'numbers' AND since = ${new Date(NOON - HOUR)}`).toHaveLength(1)
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.live("a purge locks beneficiaries in the same order as payouts do", () =>
  Effect.gen(function* () {
    const node = yield* givenPorts(yield* givenDatabase)
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { purge } = yield* Beneficiaries
      yield* sql`INSERT INTO beneficiaries (app_id, id, mode, party_hash, type, country, currency, masked_destination, created_at, last_used_at)
        SELECT 'acme', n::text, 'live', decode(lpad(to_hex(9 - n), 2, '0'), 'hex'), 'momo', 'UG', 'UGX', '', now(), now()
        FROM generate_series(1, 5) AS n`
      // Of so few rows they are read as they lie, once that is known.
      yield* sql`ANALYZE beneficiaries`
      const first = "SELECT 1 FROM beneficiaries ORDER BY party_hash LIMIT 1 FOR UPDATE"
      const purging = yield* whileHeld(
        first,
        Effect.gen(function* () {
          const running = yield* Effect.forkChild(purge(AppId.make("acme"), auditEntry()))
          const waiting = sql`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
          yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
          // Had it taken a later one before the first, this would fail.
          yield* sql`SELECT 1 FROM beneficiaries
            WHERE party_hash > (SELECT min(party_hash) FROM beneficiaries) FOR UPDATE NOWAIT`
          return running
        })
      )
      expect(yield* Fiber.join(purging)).toBe(5)
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.live("a record that cannot be read delays no other due record, and is not claimed again before its lease ends", () =>
  Effect.gen(function* () {
    const { node } = yield* given(100_000n)
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { claimDue } = yield* Transactions
      for (const key of ["a", "b", "c"]) yield* openOne(appId, key, 1_000n)
      const [broken] = yield* sql`UPDATE transactions SET record = '{"kind":"payout"}'
        WHERE reference = (SELECT min(reference) FROM transactions) RETURNING reference`
      const due = NOON + HOUR
      const claimed = yield* claimDue(due, 10, 60_000)
      expect(claimed).toHaveLength(2)
      expect(claimed.map(({ transaction }) => transaction.reference)).not.toContain(Reference.make(String(broken?.["reference"])))
      expect(yield* claimDue(due + 59_999, 10, 60_000)).toStrictEqual([])
      expect(yield* claimDue(due + 60_000, 10, 60_000)).toHaveLength(2)
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

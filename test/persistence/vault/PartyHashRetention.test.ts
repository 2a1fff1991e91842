import { it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { effectiveLimits, windowUse } from "../../../src/domain/VelocityLimits.ts"
import { CodesPg } from "../../../src/persistence/requests/CodesPg.ts"
import { PayerLocksPg } from "../../../src/persistence/requests/PayerLocksPg.ts"
import { VelocityLimitsPg } from "../../../src/persistence/requests/VelocityLimitsPg.ts"
import { BeneficiariesPg } from "../../../src/persistence/transactions/BeneficiariesPg.ts"
import { PartyHashRetentionPg } from "../../../src/persistence/vault/PartyHashRetentionPg.ts"
import { Beneficiaries } from "../../../src/services/ports/Beneficiaries.ts"
import { Codes } from "../../../src/services/ports/Codes.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { PartyHashRetention } from "../../../src/services/ports/PartyHashRetention.ts"
import { PayerLocks } from "../../../src/services/ports/PayerLocks.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { appId, given, openStep } from "../../support/LedgerSteps.ts"
import { givenClaim } from "../../support/PaymentRequests.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const DAY = 24 * 3_600_000
const partyHash = new Uint8Array(Buffer.from("c0ffee".repeat(11).slice(0, 64), "hex"))
const hex = Buffer.from(partyHash).toString("hex")
const windows = effectiveLimits("live", "payout", []).map((limit) => windowUse(appId, limit, hex, NOON))

const ports = Layer.fresh(Layer.mergeAll(PartyHashRetentionPg, VelocityLimitsPg, PayerLocksPg, CodesPg, BeneficiariesPg))

/** The tables in which the hash stands, whether as bytes or as digits. */
const standing = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ name: string }>`
    SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1`
  const found = yield* Effect.filter(tables, ({ name }) =>
    Effect.map(
      sql.unsafe(`SELECT 1 FROM "${name}" t WHERE row_to_json(t)::text LIKE '%${hex}%' LIMIT 1`),
      (rows) => rows.length > 0
    )
  )
  return found.map(({ name }) => name)
})

/** One payout in all its windows. */
const paid = Effect.fnUntraced(function* (key: string) {
  const claim = yield* givenClaim(appId, key)
  expect(yield* (yield* FloatLedger).open({ ...openStep(claim, 1_000n), counters: windows, partyHash })).toEqual({
    _tag: "Opened"
  })
})

describe("the hash of a number", () => {
  it.live(
    "is only in a beneficiary after 90 days, whether its transaction is open or not, and there until the tenant purges",
    () =>
      Effect.gen(function* () {
        const { node } = yield* given(50_000n)
        yield* Effect.gen(function* () {
          const { prune } = yield* PartyHashRetention
          const now = yield* Clock.currentTimeMillis
          yield* paid("old")
          yield* (yield* PayerLocks).charges(appId, "live", partyHash)
          const code = { appId, mode: "live", partyHash } as const
          yield* (yield* Codes).request({ ...code, at: NOON, counters: [] }, { perNumber: 3, windowMs: 600_000 })
          yield* (yield* Codes).sent({ ...code, pinId: "VE1", account: null }, NOON)
          expect(yield* standing).toEqual(["code_requests", "counters", "payer_locks", "sent_codes", "transactions"])
          yield* prune(NOON - DAY, 10)
          expect(yield* standing).toEqual(["code_requests", "counters", "payer_locks", "sent_codes", "transactions"])
          yield* (yield* SqlClient.SqlClient)`INSERT INTO beneficiaries
          (app_id, id, mode, party_hash, type, country, currency, masked_destination, created_at, last_used_at)
          VALUES (${appId}, 'B1', 'live', ${partyHash}, 'momo', 'UG', 'UGX', '••••0010', now() - interval '1 year', now() - interval '1 year')`
          yield* prune(now + DAY, 10)
          yield* (yield* VelocityLimits).prune(NOON + DAY, 10)
          expect(yield* standing).toEqual(["beneficiaries"])
          expect(yield* prune(now + DAY, 10)).toBe(0)
          expect(yield* standing).toEqual(["beneficiaries"])
          expect(yield* (yield* Beneficiaries).purge(appId, auditEntry())).toBe(1)
          expect(yield* standing).toEqual([])
        }).pipe(Effect.provide(ports), Effect.provideContext(node))
      }).pipe(Effect.scoped)
  )

  it.live("is removed in steps, together with the windows that it was counted in", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { prune } = yield* PartyHashRetention
        for (const key of ["one", "two", "three", "four", "five"]) yield* paid(key)
        const left = Effect.map(
          sql`SELECT 1 FROM transactions WHERE party_hash IS NOT NULL AND json_array_length(counted) > 0`,
          (rows) => rows.length
        )
        const steps = Effect.all([prune(NOON + DAY, 2), left])
        expect([yield* steps, yield* steps, yield* steps, yield* steps]).toEqual([
          [2, 3],
          [2, 1],
          [1, 0],
          [0, 0]
        ])
      }).pipe(Effect.provide(ports), Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})

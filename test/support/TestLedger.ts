import { Effect, identity, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { exponents } from "../../src/domain/Currency.ts"
import type { AppId } from "../../src/domain/Ids.ts"
import { credit } from "../../src/domain/Ledger.ts"
import { minor } from "../../src/domain/Money.ts"
import { Database } from "../../src/persistence/Database.ts"
import { IdempotencyPg } from "../../src/persistence/IdempotencyPg.ts"
import { IdentifiersLive } from "../../src/persistence/IdentifiersLive.ts"
import { FloatLedgerPg } from "../../src/persistence/ledger/FloatLedgerPg.ts"
import { TransactionsPg } from "../../src/persistence/TransactionsPg.ts"
import { VaultPg } from "../../src/persistence/VaultPg.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import { Policy } from "../../src/services/ports/Policy.ts"
import { NOON } from "./SampleTransactions.ts"
import { auditEntry, masterKey } from "./TestDatabase.ts"

const MINUTE = 60_000

/** The defaults of the settings, as every rule of the contract is written for. */
export const policy: Policy["Service"] = {
  publicHosts: [],
  signatureMaxAgeSeconds: 120,
  signatureMaxAheadSeconds: 30,
  nonceKeptSeconds: 180,
  idempotencyLeaseMs: 90_000,
  providerTimeoutMs: 15_000,
  pollSchedule: { open: [15_000, 30_000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE] },
  collectionExpiryMs: 15 * MINUTE,
  redirectExpiryMs: 60 * MINUTE,
  otpExpiryMs: 10 * MINUTE,
  notFoundGraceMs: 10 * MINUTE,
  notFoundCount: 3,
  webhookScheduleMs: [0, 5_000, 30_000],
  webhookAllowLoopback: true,
  keptRefusals: "off",
  circuit: { failures: 20, openMs: 1_000 },
  testCeilings: Object.fromEntries(Object.keys(exponents).map((currency) => [currency, minor(20_000n)])) as never
}

/** The ports that move money, as one gateway process has them. */
export const givenLedger = (url: Redacted.Redacted, change: (sql: SqlClient.SqlClient) => SqlClient.SqlClient = identity) =>
  Layer.build(
    Layer.mergeAll(FloatLedgerPg, IdempotencyPg, TransactionsPg).pipe(
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(Layer.effect(SqlClient.SqlClient, Effect.map(SqlClient.SqlClient, change))),
      Layer.provideMerge(Layer.mergeAll(Database.layer({ url }), IdentifiersLive, Layer.succeed(Policy, policy))),
      Layer.fresh
    )
  )

let externalId = 0

/** Float of a tenant that exists, in UGX. */
export const givenFloat = Effect.fnUntraced(function* (appId: AppId, amount: bigint) {
  const ledger = yield* FloatLedger
  return yield* ledger.adjust({
    appId,
    mode: "live",
    currency: "UGX",
    direction: "credit",
    amount: minor(amount),
    externalId: `given-${externalId++}`,
    note: "given",
    at: NOON,
    entry: credit("UGX", minor(amount)),
    audit: auditEntry()
  })
})

/** A key that was just claimed. */
export const givenClaim = Effect.fnUntraced(function* (appId: AppId, key: string) {
  const idempotency = yield* Idempotency
  const claimed = yield* idempotency.claim({ appId, mode: "live", endpoint: "POST /v1/payouts", key }, new Uint8Array(32))
  return claimed._tag === "Fresh" ? claimed.claim : yield* Effect.die(new Error(`the key was ${claimed._tag}`))
})

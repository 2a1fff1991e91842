import { Effect, identity, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../src/persistence/Database.ts"
import { FloatLedgerPg } from "../../src/persistence/ledger/FloatLedgerPg.ts"
import { IdempotencyPg } from "../../src/persistence/requests/IdempotencyPg.ts"
import { TransactionsPg } from "../../src/persistence/transactions/TransactionsPg.ts"
import { RandomSourceLive } from "../../src/persistence/vault/RandomSourceLive.ts"
import { VaultPg } from "../../src/persistence/vault/VaultPg.ts"
import { Policy } from "../../src/services/ports/Policy.ts"
import { policy } from "../fakes/FakePolicy.ts"
import { masterKey } from "./TestDatabase.ts"

/** The ports that move money, as one gateway process has them. */
export const givenLedger = (url: Redacted.Redacted, change: (sql: SqlClient.SqlClient) => SqlClient.SqlClient = identity) =>
  Layer.build(
    Layer.mergeAll(FloatLedgerPg, IdempotencyPg, TransactionsPg).pipe(
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(Layer.effect(SqlClient.SqlClient, Effect.map(SqlClient.SqlClient, change))),
      Layer.provideMerge(Layer.mergeAll(Database.layer({ url }), RandomSourceLive, Layer.succeed(Policy, policy))),
      Layer.fresh
    )
  )

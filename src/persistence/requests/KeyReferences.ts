import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Reference } from "../../domain/Ids.ts"
import { referenceOfKey } from "../../domain/ReferenceBucket.ts"
import type { IdempotencyScope } from "../../domain/RequestFingerprint.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { bucketHash } from "../connection/BucketHash.ts"
import { rowsOf } from "../connection/Rows.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import { makeTenantRead } from "../reads/BatchedRead.ts"

/** A key makes a transaction at most once in its retention: so many retentions are longer than anybody keeps a database. */
const TRANSACTIONS_AT_MOST = 1_000

interface Candidate extends Pick<IdempotencyScope, "appId" | "mode"> {
  readonly reference: Reference
}

const standings = rowsOf(Schema.Struct({ taken: Schema.Boolean, booked: Schema.Boolean }))

/**
 * The reference of the next transaction of a key that somebody just claimed. The key's own transactions are never removed, so that what it
 * made before it was pruned is found by their references. Booked: operators booked its money by hand, by this reference, after a restore had
 * forgotten the transaction; a second one would move it again.
 */
export const makeKeyReferences = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const hash = bucketHash(yield* Vault)

  // Each is found by its key, whatever the planner thinks of the tables.
  const readAll = (candidates: ReadonlyArray<Candidate>, of: TenantFilter) => {
    const asked = candidates.map(({ appId, mode, reference }, ord) => ({ ord, app_id: appId, mode, reference }))
    return standings(sql`
      SELECT t.found IS NOT NULL AS taken, f.found IS NOT NULL AS booked
      FROM json_to_recordset(${JSON.stringify(asked)}::json) AS a(ord int, app_id text, mode text, reference text)
      LEFT JOIN LATERAL (
        SELECT 1 AS found FROM transactions WHERE app_id = a.app_id AND reference = a.reference ${of("app_id")} LIMIT 1
      ) t ON true
      LEFT JOIN LATERAL (
        SELECT 1 AS found FROM float_adjustments
        WHERE app_id = a.app_id AND mode = a.mode AND external_id = a.reference ${of("app_id")} LIMIT 1
      ) f ON true
      ORDER BY a.ord`)
  }
  const read = yield* makeTenantRead(sql, ({ appId }: Candidate) => appId, readAll)

  return Effect.fnUntraced(function* (scope: IdempotencyScope) {
    for (let earlier = 0; earlier < TRANSACTIONS_AT_MOST; earlier++) {
      const reference = referenceOfKey(hash, scope, earlier)
      const { booked, taken } = yield* read({ appId: scope.appId, mode: scope.mode, reference })
      if (!taken) return { reference, booked }
    }
    return yield* Effect.die(new Error("a key made more transactions than it can have lived retentions"))
  })
})

import { Clock, Effect, Option, type Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { ProviderMemory } from "../../services/ports/ProviderMemory.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { rowsOf } from "../connection/Rows.ts"
import { type Swept, sweptIn } from "../vault/Retention.ts"

const purposeOf = (name: string): string => `provider_memory ${name}`
/** The value of a claim without one. */
const NOTHING = new Uint8Array()

const sealedRows = rowsOf(Schema.Struct({ sealed: Schema.Uint8Array }))
const claimed = rowsOf(Schema.Struct({ name: Schema.String }))

/** ProviderMemory on PostgreSQL. It owns provider_memory, in which every row expires. */
export const ProviderMemoryPg = layerOf(ProviderMemory)(function* () {
  const sql = yield* SqlClient.SqlClient
  const vault = yield* Vault
  const now = Effect.map(Clock.currentTimeMillis, iso)

  const opened = Effect.fnUntraced(function* (name: string, rows: ReadonlyArray<{ readonly sealed: Uint8Array }>) {
    const [row] = rows
    return row === undefined || row.sealed.length === 0
      ? Option.none<Redacted.Redacted>()
      : Option.some(yield* vault.open(purposeOf(name), row.sealed))
  })

  const put: ProviderMemory["Service"]["put"] = Effect.fn("ProviderMemory.put")(function* (name, value, until) {
    const sealed = yield* vault.seal(purposeOf(name), value)
    yield* Effect.orDie(sql`INSERT INTO provider_memory (name, sealed, until) VALUES (${name}, ${sealed}, ${iso(until)}::timestamptz)
      ON CONFLICT (name) DO UPDATE SET sealed = EXCLUDED.sealed, until = EXCLUDED.until`)
  })

  const get: ProviderMemory["Service"]["get"] = Effect.fn("ProviderMemory.get")(function* (name) {
    return yield* opened(
      name,
      yield* sealedRows(sql`SELECT sealed FROM provider_memory WHERE name = ${name} AND until > ${yield* now}::timestamptz`)
    )
  })

  const take: ProviderMemory["Service"]["take"] = Effect.fn("ProviderMemory.take")(function* (name) {
    return yield* opened(
      name,
      yield* sealedRows(
        sql`DELETE FROM provider_memory WHERE name = ${name} AND until > ${yield* now}::timestamptz RETURNING sealed`
      )
    )
  })

  const claim: ProviderMemory["Service"]["claim"] = Effect.fn("ProviderMemory.claim")(function* (name, until, value) {
    const sealed = value === undefined ? NOTHING : yield* vault.seal(purposeOf(name), value)
    const rows =
      yield* claimed(sql`INSERT INTO provider_memory (name, sealed, until) VALUES (${name}, ${sealed}, ${iso(until)}::timestamptz)
      ON CONFLICT (name) DO UPDATE SET sealed = EXCLUDED.sealed, until = EXCLUDED.until
      WHERE provider_memory.until <= ${yield* now}::timestamptz RETURNING name`)
    return rows.length > 0
  })

  const prune: ProviderMemory["Service"]["prune"] = Effect.fn("ProviderMemory.prune")(function* (before, limit) {
    const rows = yield* sql<Swept>`WITH ended AS (
        DELETE FROM provider_memory WHERE name IN (
          SELECT name FROM provider_memory WHERE until < ${iso(before)}::timestamptz ORDER BY until LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING 1)
      SELECT count(*)::int AS swept FROM ended`
    return sweptIn(rows)
  }, Effect.orDie)

  return { put, get, take, claim, prune }
})

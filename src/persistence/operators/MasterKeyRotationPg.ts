import type { KeyObject } from "node:crypto"
import { Effect, Layer, Option, type Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { MasterKeyRotation, type RewrappedCounts, RotationIncomplete } from "../../services/ports/MasterKeyRotation.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { advisoryLocks } from "../connection/AdvisoryLocks.ts"
import { rowsOf } from "../connection/Rows.ts"
import { ownSession, SessionPooling } from "../connection/SessionPooling.ts"
import { keyedHashWith, loadHashKey } from "../vault/HashKey.ts"
import { openBytes, parseMasterKey, sealBytes, type VaultError } from "../vault/Sealing.ts"

/** A column whose values the master key seals, and the SQL for the purpose of each value. */
interface SealedColumn {
  readonly table: string
  readonly column: string
  readonly key: ReadonlyArray<string>
  readonly purpose: string
}

/** Everything that is sealed. The gateway's own keys come last: until they are re-wrapped, no gateway starts with the new key. */
export const sealedColumns: ReadonlyArray<SealedColumn> = [
  {
    table: "api_keys",
    column: "signing_secret_sealed",
    key: ["app_id", "key_id"],
    purpose: "'signing_secret ' || app_id || '/' || key_id"
  },
  { table: "tenants", column: "sender_sealed", key: ["app_id"], purpose: "'sender ' || app_id" },
  {
    table: "webhook_endpoints",
    column: "secret_sealed",
    key: ["app_id", "mode"],
    purpose: "'webhook_secret ' || app_id || '/' || mode"
  },
  {
    table: "webhook_endpoints",
    column: "previous_secret_sealed",
    key: ["app_id", "mode"],
    purpose: "'webhook_secret ' || app_id || '/' || mode"
  },
  {
    table: "named_endpoints",
    column: "secret_sealed",
    key: ["app_id", "queue"],
    purpose: "'webhook_secret ' || app_id || '/' || queue"
  },
  {
    table: "named_endpoints",
    column: "previous_secret_sealed",
    key: ["app_id", "queue"],
    purpose: "'webhook_secret ' || app_id || '/' || queue"
  },
  { table: "open_work", column: "sealed_destination", key: ["app_id", "reference"], purpose: "'destination'" },
  { table: "provider_memory", column: "sealed", key: ["name"], purpose: "'provider_memory ' || name" },
  { table: "vault_keys", column: "sealed", key: ["purpose"], purpose: "purpose" }
]

/** How many values are re-wrapped in one commit. */
const PAGE_ROWS = 200
/** How many passes are made before the rotation reports that a process still seals under the old key. */
const PASSES_AT_MOST = 8

const pages = rowsOf(Schema.Struct({ key: Schema.Array(Schema.String), purpose: Schema.String, sealed: Schema.Uint8Array }))
/** How many values the old key still sealed, and how many of them were re-wrapped. */
type Found = { readonly old: number; readonly written: number }
const NOTHING: Found = { old: 0, written: 0 }
type Row = { readonly key: ReadonlyArray<string>; readonly purpose: string; readonly sealed: Uint8Array }

/**
 * MasterKeyRotation on PostgreSQL. It owns no table: it writes the sealed columns of others. The master key's advisory lock,
 * held for as long as it runs, keeps every gateway away. Each value is written only if it is still the one that was read.
 */
export const MasterKeyRotationPg = {
  /** `masterKey` is the new one. */
  layer: (masterKey: Redacted.Redacted): Layer.Layer<MasterKeyRotation, VaultError, SqlClient.SqlClient> =>
    Layer.effect(MasterKeyRotation, make(masterKey))
}

const make = Effect.fnUntraced(function* (masterKey: Redacted.Redacted) {
  const sql = yield* SqlClient.SqlClient
  const pooling = yield* SessionPooling
  const to = yield* parseMasterKey(masterKey)

  const pageOf = ({ column, key, purpose, table }: SealedColumn, after: ReadonlyArray<string> | null) => {
    const names = key.join(", ")
    const beyond = after === null ? "" : `AND (${names}) > (${key.map((_, at) => `$${at + 1}`).join(", ")})`
    return pages(
      sql.unsafe(
        `SELECT ARRAY[${names}] AS key, ${purpose} AS purpose, ${column} AS sealed FROM ${table}
         WHERE octet_length(${column}) > 0 ${beyond} ORDER BY ${names} LIMIT ${PAGE_ROWS}`,
        after ?? []
      )
    )
  }

  /** Visits every value, page by page, and adds up the results of `visit`. */
  const visitAll = Effect.fnUntraced(function* <E>(column: SealedColumn, visit: (row: Row) => Effect.Effect<Found, E>) {
    let after: ReadonlyArray<string> | null = null
    let sum = NOTHING
    for (;;) {
      const page: ReadonlyArray<Row> = yield* pageOf(column, after)
      const found: ReadonlyArray<Found> = yield* sql
        .withTransaction(Effect.forEach(page, visit))
        .pipe(Effect.catchTag("SqlError", (error) => Effect.die(error)))
      sum = found.reduce((all, { old, written }) => ({ old: all.old + old, written: all.written + written }), sum)
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE_ROWS) return sum
      after = last.key
    }
  })

  /** A value that is overwritten meanwhile is left alone: the next pass finds it if it was sealed under the old key again. */
  const rewrap = (column: SealedColumn, from: KeyObject, { key, purpose, sealed: value }: Row) =>
    Option.match(openBytes(from, purpose, value), {
      onNone: () => Effect.succeed(NOTHING),
      onSome: (plain) =>
        sql
          .unsafe(
            `UPDATE ${column.table} SET ${column.column} = $1 WHERE ${column.column} = $2
             AND (${column.key.join(", ")}) = (${column.key.map((_, at) => `$${at + 3}`).join(", ")}) RETURNING 1 AS rewrapped`,
            [sealBytes(to, purpose, plain), value, ...key]
          )
          .pipe(
            Effect.orDie,
            Effect.map((rows): Found => ({ old: 1, written: rows.length }))
          )
    })

  /** Repeats passes over the columns until one finds nothing under the old key; adds what was re-wrapped to `counts`. */
  const rewrapAll = Effect.fnUntraced(function* (
    columns: ReadonlyArray<SealedColumn>,
    from: KeyObject,
    counts: Record<string, number>
  ) {
    for (let pass = 0; pass < PASSES_AT_MOST; pass++) {
      let old = 0
      for (const column of columns) {
        const found = yield* visitAll(column, (row) => rewrap(column, from, row))
        counts[nameOf(column)] = (counts[nameOf(column)] ?? 0) + found.written
        old += found.old
      }
      if (old === 0) return
    }
    return yield* new RotationIncomplete(
      "a gateway goes on sealing under the old key: stop every one of them, then run this again; nothing is lost"
    )
  })

  const checkOpens = (column: SealedColumn, from: KeyObject, { key, purpose, sealed: value }: Row) =>
    Option.isSome(openBytes(to, purpose, value)) || Option.isSome(openBytes(from, purpose, value))
      ? Effect.succeed(NOTHING)
      : Effect.fail(
          new RotationIncomplete(`${column.table} ${key.join("/")} opens with neither key: is this the old key's file?`)
        )

  /** While the scope lives, no node runs and none can start. */
  const lockOutGateways = Effect.gen(function* () {
    const session = yield* Effect.orDie(Effect.provideService(ownSession(sql), SessionPooling, pooling))
    const ask = (text: string) => session.ask(text, [advisoryLocks.masterKey])
    const [row] = yield* locks(ask(`SELECT ${session.tryLock}($1) AS "isHeld"`))
    // A session that has ended holds no lock, and neither does an ended transaction.
    if (row?.isHeld === true) return yield* Effect.addFinalizer(() => Effect.exit(ask("SELECT pg_advisory_unlock($1)")))
    const named = (yield* holders(ask(HOLDERS))).map(
      ({ address, name, pid }) => `${name} (${address ?? "a socket"}, session ${pid})`
    )
    return yield* new RotationIncomplete(
      `these gateways are connected and know the old key alone: ${named.join(", ")}; stop them first, nothing was changed`
    )
  })

  const rotate = Effect.fn("MasterKeyRotation.rotate")(function* (old: Redacted.Redacted, audit: AuditEntry) {
    const from = yield* parseMasterKey(old).pipe(
      Effect.catchTag("VaultError", () => new RotationIncomplete("the old key's file holds no key of 32 bytes in base64"))
    )
    if (from.equals(to)) return yield* new RotationIncomplete("MASTER_KEY is the old key itself")
    yield* lockOutGateways
    for (const column of sealedColumns) yield* visitAll(column, (row) => checkOpens(column, from, row))
    const counts: Record<string, number> = {}
    const ours = sealedColumns.filter(({ table }) => table === "vault_keys")
    const others = sealedColumns.filter((column) => !ours.includes(column))
    yield* rewrapAll(others, from, counts)
    const ourKey = loadHashKey(sql, to).pipe(Effect.catchTag("VaultError", ({ message }) => new RotationIncomplete(message)))
    const last = Effect.gen(function* () {
      yield* rewrapAll(ours, from, counts)
      if (Object.values(counts).every((count) => count === 0)) return
      yield* auditTrail(sql, keyedHashWith(yield* ourKey)).write(audit)
    })
    yield* sql.withTransaction(last).pipe(Effect.catchTag("SqlError", (error) => Effect.die(error)))
    // From here on no gateway starts with the old key. One that still ran may have sealed something in the meantime.
    yield* rewrapAll(others, from, counts)
    return counts satisfies RewrappedCounts
  }, Effect.scoped)

  return MasterKeyRotation.of({ rotate })
})

/** The sessions in this database that hold the advisory lock with this number. */
const HOLDERS = `
  SELECT l.pid, coalesce(a.application_name, '') AS name, host(a.client_addr) AS address
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 0 AND l.objid = $1::bigint::oid AND l.objsubid = 1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  ORDER BY name, l.pid`
const locks = rowsOf(Schema.Struct({ isHeld: Schema.Boolean }))
const holders = rowsOf(Schema.Struct({ pid: Schema.Number, name: Schema.String, address: Schema.NullOr(Schema.String) }))

const nameOf = ({ column, table }: SealedColumn): string => `${table}.${column}`

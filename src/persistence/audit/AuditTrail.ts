import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import { AUDIT_HEAD_MESSAGE, type AuditEntry, type AuditedChange, headText } from "../../services/ports/AuditLog.ts"
import { isChangeByTenant, neverPrunedActions, TENANT_CHANGES_KEPT_AT_MOST } from "../../services/ports/TenantChanges.ts"
import { rowsOf } from "../connection/Rows.ts"
import { HeadRow, headMac, isAuthentic, type KeyedHash, keyedHash } from "../vault/AuditChain.ts"

const heads = rowsOf(HeadRow)
const done = rowsOf(Schema.Struct({}))
const changes = rowsOf(Schema.Struct({ isChanged: Schema.Boolean }))

/** A change as `change_access` knows it, and the columns to write, as JSON: bytes and large numbers are texts. */
interface AccessChange {
  readonly change:
    | "tenant create"
    | "tenant change"
    | "tenant sender"
    | "key issue"
    | "key revoke"
    | "access seal"
    | "limit set"
    | "cap set"
    | "cap remove"
    | "ceiling set"
    | "denial add"
    | "corridor set"
    | "provider switch"
    | "operator add"
    | "operator remove"
    | "proposal open"
    | "proposal decide"
    | "proposal fail"
    | "proposal finish"
  readonly to: Readonly<Record<string, unknown>>
}

/** Bytes as a text that the database parses. */
export const byteaText = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString("hex")}`

export type AuditTrail = ReturnType<typeof auditTrail>

/**
 * The audit chain's writer. AuditChain computes its hashes, AuditLogPg reads and verifies it.
 *
 * Records each change in the change's own commit: an operator's in the audit log, a tenant's in that tenant's own stream. The
 * head of the log stays locked until the commit, so the change comes first and its row last.
 */
export const auditTrail = (sql: SqlClient.SqlClient, keyed: KeyedHash) => {
  /** The next row with its hashes, and the head, which is locked until the commit. */
  const nextRow = Effect.fnUntraced(function* ({ action, actor, at, details, subject }: AuditEntry) {
    const [head] = yield* heads(sql`SELECT sequence, hash, mac FROM audit_head_locked()`)
    if (head === undefined) return yield* Effect.die(new Error("the head of the audit log is gone"))
    const link = {
      sequence: head.sequence + 1n,
      atMicros: BigInt(at) * 1000n,
      actor,
      action,
      subject,
      details: JSON.stringify(details)
    }
    const hash = keyedHash(keyed, head.hash, link)
    const genuine = isAuthentic(keyed, head)
    // Manipulation of the log is never covered up: after a head that no gateway wrote, no verifiable head is written.
    if (!genuine) yield* Effect.logError("the head of the audit log is not what the gateway wrote: run gateway audit verify")
    const mac = genuine ? headMac(keyed, { sequence: link.sequence, hash }) : head.mac
    const end = headText({ sequence: link.sequence, hash: Buffer.from(hash).toString("hex") })
    // A copy of every head outside the database: a database that is restored later lacks the rows up to it.
    const reported = genuine
      ? sql.afterCommit(Effect.annotateLogs(Effect.logInfo(AUDIT_HEAD_MESSAGE), { audit_head: end }))
      : Effect.void
    return {
      values: sql`${link.sequence}, ${iso(at)}::timestamptz, ${actor}, ${action}, ${subject}, ${link.details}, ${hash}, ${mac}`,
      reported
    }
  })

  const append = Effect.fnUntraced(function* (entry: AuditEntry) {
    const { reported, values } = yield* nextRow(entry)
    yield* done(sql`SELECT FROM append_audit_row(${values}, false)`)
    yield* reported
  })

  /**
   * Changes access: one change of `change_access` (migration 0020) and its audit row, in one call of the database, so that
   * there is no other way to make it. False, and no row, when there was nothing to change. `locked` takes the lock of the
   * tenant or the proposals first: the head is the last of all locks.
   */
  const change = <E = never>(
    access: AccessChange,
    entry: AuditEntry,
    locked: Effect.Effect<unknown, E | SqlError.SqlError> = Effect.void
  ): Effect.Effect<boolean> =>
    Effect.gen(function* () {
      yield* locked
      const { reported, values } = yield* nextRow(entry)
      const [row] = yield* changes(
        sql`SELECT change_access(${access.change}, ${JSON.stringify(access.to)}::json, ${values}) AS "isChanged"`
      )
      if (row?.isChanged === true) yield* reported
      return row?.isChanged === true
    }).pipe((effect) => sql.withTransaction(effect), Effect.orDie)

  /** In a transaction of the caller, after the change. */
  const write = (change: AuditedChange): Effect.Effect<void> =>
    isChangeByTenant(change)
      ? Effect.asVoid(
          done(sql`SELECT FROM record_tenant_change(${change.tenant.appId}, ${change.tenant.mode}, ${iso(change.at)}::timestamptz,
            ${change.actor}, ${change.action}, ${JSON.stringify(change.details)}, ${neverPrunedActions.includes(change.action) ? null : TENANT_CHANGES_KEPT_AT_MOST}::bigint)`)
        )
      : append(change)

  const inOneCommit = <A>(
    written: Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>,
    record: AuditedChange
  ): Effect.Effect<ReadonlyArray<A>> =>
    Effect.orDie(sql.withTransaction(Effect.tap(written, (rows) => (rows.length === 0 ? Effect.void : write(record)))))

  return {
    write,
    change,
    /** The change and its record are one commit. A change that returns no row changed nothing, and leaves no record. */
    with: inOneCommit
  }
}

import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { iso } from "../domain/Instant.ts"
import { AUDIT_HEAD_MESSAGE, type AuditEntry, type AuditedChange, headText } from "../services/ports/AuditLog.ts"
import { isTenantChange, neverPrunedActions, TENANT_CHANGES_AT_MOST } from "../services/ports/TenantChanges.ts"
import { HeadRow, headMac, isAuthentic, type KeyedHash, keyedHash } from "./AuditChain.ts"
import { rowsOf } from "./Rows.ts"

const heads = rowsOf(HeadRow)
const done = rowsOf(Schema.Struct({}))

export type AuditTrail = ReturnType<typeof auditTrail>

/**
 * The audit chain's writer. AuditChain computes its hashes, AuditLogPg reads and verifies it.
 *
 * Writes down each change in its own commit: what an operator did in the audit log, what a tenant did in that tenant's own stream. The
 * head of the log stays locked until the commit, so that a change comes first and its row last.
 */
export const auditTrail = (sql: SqlClient.SqlClient, keyed: KeyedHash) => {
  const append = Effect.fnUntraced(function* ({ action, actor, at, details, subject }: AuditEntry, changesKept: boolean) {
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
    // What was done to the log is never covered up: after a head that no gateway wrote, none is written that verifies.
    if (!genuine) yield* Effect.logError("the head of the audit log is not what the gateway wrote: run gateway audit verify")
    const mac = genuine ? headMac(keyed, { sequence: link.sequence, hash }) : head.mac
    yield* done(sql`SELECT FROM append_audit_row(${link.sequence}, ${iso(at)}::timestamptz, ${actor}, ${action}, ${subject},
      ${link.details}, ${hash}, ${mac}, ${changesKept})`)
    if (!genuine) return
    const end = headText({ sequence: link.sequence, hash: Buffer.from(hash).toString("hex") })
    // A copy outside the database of every head that there was: one that is put back later lacks the rows up to it.
    yield* sql.afterCommit(Effect.annotateLogs(Effect.logInfo(AUDIT_HEAD_MESSAGE), { audit_head: end }))
  })

  /** In a transaction of the caller's, after the change. */
  const write = (change: AuditedChange): Effect.Effect<void> =>
    isTenantChange(change)
      ? Effect.asVoid(
          done(sql`SELECT FROM record_tenant_change(${change.tenant.appId}, ${change.tenant.mode}, ${iso(change.at)}::timestamptz,
            ${change.actor}, ${change.action}, ${JSON.stringify(change.details)}, ${neverPrunedActions.includes(change.action) ? null : TENANT_CHANGES_AT_MOST}::bigint)`)
        )
      : append(change, false)

  /** As `write`, for a change of rows that nodes keep in memory (RowCache), and now read anew. */
  const writeKept = (entry: AuditEntry): Effect.Effect<void> => append(entry, true)

  const inOneCommit =
    <R>(record: (written: R) => Effect.Effect<void>) =>
    <A>(change: Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>, written: R): Effect.Effect<ReadonlyArray<A>> =>
      Effect.orDie(sql.withTransaction(Effect.tap(change, (rows) => (rows.length === 0 ? Effect.void : record(written)))))

  return {
    write,
    writeKept,
    /** The change and its record are one commit. A change that answers no row was none, and leaves no record. */
    with: inOneCommit(write),
    /** As `with`, for rows that nodes keep in memory. */
    withKept: inOneCommit(writeKept)
  }
}

import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { ends, type Fault, fires } from "./AlertFiring.ts"

export const auditFault: Fault = {
  about: "the owner of the database removes rows of the audit log and sets its end back, until both are restored",
  alerts: ["AuditLogBroken"],
  story: Effect.fnUntraced(function* (operated, before) {
    const { run, sql } = operated
    yield* sql`ALTER TABLE audit_log DISABLE TRIGGER audit_log_is_append_only`
    const [head] = yield* sql`SELECT sequence, hash FROM audit_head`
    const removed = yield* sql`DELETE FROM audit_log WHERE sequence > 1 RETURNING *`
    yield* sql`UPDATE audit_head SET (sequence, hash) = (SELECT sequence, hash FROM audit_log)`
    yield* fires(operated, before, "AuditLogBroken")
    expect((yield* run("audit", "verify")).errors).toMatch(/^the audit log is broken at row 2: the end of the log is not one/)
    for (const row of removed) yield* sql`INSERT INTO audit_log ${sql.insert({ ...row })}`
    yield* sql`UPDATE audit_head SET ${sql.update(yield* Effect.fromNullishOr(head))}`
    yield* ends(operated, "AuditLogBroken")
    // The test issued its key past the command line, under a row of its own: that the rows of access differ is right.
    expect((yield* run("audit", "verify")).errors).toMatch(/^2 rows that say who may do what are not as the audit log says: key /)
  })
}

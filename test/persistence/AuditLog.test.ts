import { describe, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { iso } from "../../src/domain/Instant.ts"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { auditEntry, givenDatabase, givenNode } from "../support/GivenDatabase.ts"

const node = Effect.flatMap(givenDatabase, (url) => givenNode(url))
const append = (sql: SqlClient.SqlClient, subject: string) => {
  const { action, actor, at, details } = auditEntry()
  return sql`SELECT append_audit(${iso(at)}::timestamptz, ${actor}, ${action}, ${subject}, ${JSON.stringify(details)})`
}
/** What only the owner of the database can do. */
const tamper = (sql: SqlClient.SqlClient, change: Effect.Effect<unknown, unknown>) =>
  Effect.andThen(sql`ALTER TABLE audit_log DISABLE TRIGGER audit_log_is_append_only`, change)

describe("the audit log", () => {
  it.effect("holds every row that was appended at once, newest first, and its chain verifies", () =>
    Effect.gen(function* () {
      const one = yield* node
      const sql = Context.get(one, SqlClient.SqlClient)
      const log = Context.get(one, AuditLog)
      expect(yield* log.verify).toEqual({ rows: 0n, brokenAt: null })
      const subjects = Array.from({ length: 40 }, (_, index) => `subject ${index}`)
      yield* Effect.forEach(subjects, (subject) => append(sql, subject), { concurrency: "unbounded" })
      expect(yield* log.verify).toEqual({ rows: 40n, brokenAt: null })
      const rows = yield* log.list(50)
      expect(rows.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 40 }, (_, index) => BigInt(40 - index)))
      expect(new Set(rows.map(({ subject }) => subject))).toEqual(new Set(subjects))
      const { hash, sequence, subject: _, ...entry } = yield* Effect.fromNullishOr(rows[0])
      const { subject: __, ...given } = auditEntry()
      expect([entry, sequence]).toEqual([given, 40n])
      expect(hash).toMatch(/^[0-9a-f]{64}$/)
      expect(yield* log.list(2)).toEqual(rows.slice(0, 2))
    })
  )

  it.effect("leaves no row and no gap for a change that was rolled back", () =>
    Effect.gen(function* () {
      const one = yield* node
      const sql = Context.get(one, SqlClient.SqlClient)
      yield* append(sql, "first")
      yield* Effect.exit(sql.withTransaction(Effect.andThen(append(sql, "undone"), Effect.fail("undo"))))
      yield* append(sql, "second")
      expect(yield* Context.get(one, AuditLog).verify).toEqual({ rows: 2n, brokenAt: null })
    })
  )

  it.effect("refuses to be changed", () =>
    Effect.gen(function* () {
      const sql = Context.get(yield* node, SqlClient.SqlClient)
      yield* append(sql, "first")
      for (const change of [sql`UPDATE audit_log SET actor = 'nobody'`, sql`DELETE FROM audit_log`, sql`TRUNCATE audit_log`]) {
        expect(String((yield* Effect.flip(change)).reason.cause)).toContain("only ever appended to")
      }
    })
  )

  const tricks: ReadonlyArray<readonly [string, (sql: SqlClient.SqlClient) => Effect.Effect<unknown, unknown>, bigint]> = [
    ["a changed row", (sql) => sql`UPDATE audit_log SET actor = 'nobody' WHERE sequence = 2`, 2n],
    ["a changed moment", (sql) => sql`UPDATE audit_log SET at = at + interval '1 microsecond' WHERE sequence = 3`, 3n],
    ["text moved between fields", (sql) => sql`UPDATE audit_log SET actor = actor || action, action = '' WHERE sequence = 1`, 1n],
    ["a removed row", (sql) => sql`DELETE FROM audit_log WHERE sequence = 2`, 2n],
    ["the newest row removed", (sql) => sql`DELETE FROM audit_log WHERE sequence = 4`, 4n],
    [
      "the newest row and its head removed",
      (sql) => Effect.andThen(sql`DELETE FROM audit_log WHERE sequence = 4`, sql`UPDATE audit_head SET sequence = 3`),
      3n
    ]
  ]
  for (const [name, trick, brokenAt] of tricks) {
    it.effect(`finds ${name}`, () =>
      Effect.gen(function* () {
        const one = yield* node
        const sql = Context.get(one, SqlClient.SqlClient)
        yield* Effect.forEach(["a", "b", "c", "d"], (subject) => append(sql, subject))
        yield* tamper(sql, trick(sql))
        expect((yield* Context.get(one, AuditLog).verify).brokenAt).toBe(brokenAt)
      })
    )
  }
})

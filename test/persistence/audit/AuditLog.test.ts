import { describe, it } from "@effect/vitest"
import { Context, Effect, Logger, type Redacted, References } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { auditTrail } from "../../../src/persistence/audit/AuditTrail.ts"
import { AuditLog, headText } from "../../../src/services/ports/AuditLog.ts"
import { Vault } from "../../../src/services/ports/Vault.ts"
import { auditEntry, givenDatabase, givenNode } from "../../support/TestDatabase.ts"

const given = Effect.flatMap(givenDatabase, (url) => on(url))
const on = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const node = yield* givenNode(url)
  const sql = Context.get(node, SqlClient.SqlClient)
  const log = Context.get(node, AuditLog)
  const trail = auditTrail(sql, Context.get(node, Vault).hash)
  const append = (subject: string) => trail.with(sql`SELECT 1`, auditEntry({ subject }))
  const verify = Effect.map(log.verify(null), ({ brokenAt, rows }) => ({ rows, brokenAt }))
  /** What only the owner of the database can do. */
  const tamper = (...changes: ReadonlyArray<string>) =>
    Effect.forEach(["ALTER TABLE audit_log DISABLE TRIGGER audit_log_is_append_only", ...changes], (one) => sql.unsafe(one))
  return { append, log, sql, tamper, trail, url, verify }
})

const EIGHT = ["a", "b", "c", "d", "e", "f", "g", "h"]
const REMOVED = "DELETE FROM audit_log WHERE sequence > 2"
const RESET = "UPDATE audit_head SET (sequence, hash) = (SELECT sequence, hash FROM audit_log WHERE sequence = 2)"

describe("the audit log", () => {
  it.effect("holds every row of concurrent appends, newest first, in a chain that verifies", () =>
    Effect.gen(function* () {
      const { append, log, verify } = yield* given
      expect(yield* verify).toEqual({ rows: 0n, brokenAt: null })
      const subjects = Array.from({ length: 40 }, (_, index) => `subject ${index}`)
      yield* Effect.forEach(subjects, append, { concurrency: "unbounded" })
      expect(yield* verify).toEqual({ rows: 40n, brokenAt: null })
      const rows = yield* log.list(50)
      expect(rows.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 40 }, (_, index) => BigInt(40 - index)))
      expect(new Set(rows.map(({ subject }) => subject))).toEqual(new Set(subjects))
      const { hash, sequence, subject: _, ...entry } = yield* Effect.fromNullishOr(rows[0])
      const { subject: __, ...entered } = auditEntry()
      expect([entry, sequence]).toEqual([entered, 40n])
      expect(hash).toMatch(/^[0-9a-f]{64}$/)
      expect(yield* log.head).toEqual({ sequence, hash, authentic: true })
      expect(yield* log.list(2)).toEqual(rows.slice(0, 2))
    })
  )

  it.effect("has no row and no gap for a change that was rolled back or changed nothing", () =>
    Effect.gen(function* () {
      const { append, sql, trail, verify } = yield* given
      yield* append("first")
      yield* Effect.exit(sql.withTransaction(Effect.andThen(append("undone"), Effect.fail("undo"))))
      yield* trail.with(sql`SELECT 1 WHERE false`, auditEntry())
      yield* append("second")
      expect(yield* verify).toEqual({ rows: 2n, brokenAt: null })
    })
  )

  it.effect("writes its end to the process log with each row, once that row is committed", () =>
    Effect.gen(function* () {
      const { append, log, sql } = yield* given
      const told: Array<unknown> = []
      const logger = Logger.make(({ fiber, message }) => {
        told.push([String(message), fiber.getRef(References.CurrentLogAnnotations)["audit_head"]])
      })
      const withLog = Effect.provide(Logger.layer([logger]))
      yield* withLog(append("first"))
      yield* withLog(Effect.exit(sql.withTransaction(Effect.andThen(append("undone"), Effect.fail("undo")))))
      const { hash } = yield* log.head
      expect(told).toEqual([["the end of the audit log", `1:${hash}`]])
      yield* withLog(
        sql.withTransaction(
          Effect.tap(append("second"), () => Effect.sync(() => expect(told, "before its commit").toHaveLength(1)))
        )
      )
      expect(told).toHaveLength(2)
      expect(told[1]).toEqual(["the end of the audit log", headText(yield* log.head)])
      expect(yield* log.hashAt(1n)).toBe(hash)
      expect(yield* log.hashAt(3n)).toBe(null)
    })
  )

  it.effect("refuses updates and deletes", () =>
    Effect.gen(function* () {
      const { append, sql } = yield* given
      yield* append("first")
      for (const change of [sql`UPDATE audit_log SET actor = 'nobody'`, sql`DELETE FROM audit_log`, sql`TRUNCATE audit_log`]) {
        expect(String((yield* Effect.flip(change)).reason.cause)).toContain("only ever appended to")
      }
    })
  )

  const tricks: ReadonlyArray<readonly [string, ReadonlyArray<string>, bigint]> = [
    ["a changed row", ["UPDATE audit_log SET actor = 'nobody' WHERE sequence = 2"], 2n],
    ["a changed moment", ["UPDATE audit_log SET at = at + interval '1 microsecond' WHERE sequence = 3"], 3n],
    ["text moved between fields", ["UPDATE audit_log SET actor = actor || action, action = '' WHERE sequence = 1"], 1n],
    ["a removed row", ["DELETE FROM audit_log WHERE sequence = 2"], 2n],
    ["the newest row removed", ["DELETE FROM audit_log WHERE sequence = 8"], 8n],
    [
      "the newest row and its head removed",
      ["DELETE FROM audit_log WHERE sequence = 8", "UPDATE audit_head SET sequence = 7"],
      7n
    ],
    ["rows 3 to 8 removed and the head reset to the row before them", [REMOVED, RESET], 3n],
    [
      "the same with the head's code removed, as if no gateway had keyed it",
      [REMOVED, RESET, "UPDATE audit_head SET mac = NULL"],
      3n
    ],
    [
      "a chain that is written anew without the key",
      [
        "DELETE FROM audit_log WHERE sequence > 0",
        "INSERT INTO audit_log VALUES (1, 'epoch', 'nobody', 'a', 's', '{}', sha256('1:1,1:0,6:nobody,1:a,1:s,2:{},'))",
        "UPDATE audit_head SET sequence = 1, hash = (SELECT hash FROM audit_log)"
      ],
      1n
    ],
    ["everything removed", ["DELETE FROM audit_log", "UPDATE audit_head SET sequence = 0, hash = ''"], 1n],
    ["the head removed", ["DELETE FROM audit_head"], 1n]
  ]
  for (const [name, statements, brokenAt] of tricks) {
    it.effect(`finds ${name}`, () =>
      Effect.gen(function* () {
        const { append, log, tamper, url, verify } = yield* given
        yield* Effect.forEach(EIGHT, append)
        const { brokenAt: before } = yield* verify
        expect(before).toBe(null)
        yield* tamper(...statements)
        expect((yield* verify).brokenAt).toBe(brokenAt)
        expect((yield* log.head).authentic).toBe((yield* log.head).sequence === 8n)
        // A gateway that starts now finds the same, and makes nothing good.
        const later = yield* on(url)
        expect((yield* later.verify).brokenAt).toBe(brokenAt)
      })
    )
  }

  it.effect("still appends after rows were removed, so that a tenant can be frozen, and stays broken", () =>
    Effect.gen(function* () {
      const { append, log, tamper, verify } = yield* given
      yield* Effect.forEach(EIGHT, append)
      yield* tamper(REMOVED, RESET)
      yield* append("tenant freeze")
      expect((yield* log.list(9)).map(({ subject }) => subject)).toEqual(["tenant freeze", "b", "a"])
      expect(yield* verify).toEqual({ rows: 3n, brokenAt: 4n })
    })
  )

  it.effect("detects a database that was put back to an earlier state, by a head that was seen outside it", () =>
    Effect.gen(function* () {
      const { append, log, sql, tamper, verify } = yield* given
      yield* Effect.forEach(EIGHT.slice(0, 2), append)
      const [early] = yield* sql`SELECT sequence, hash, mac FROM audit_head`
      yield* Effect.forEach(EIGHT.slice(2), append)
      const seen = yield* log.head
      expect(yield* log.verify(seen)).toMatchObject({ brokenAt: null })
      yield* append("later")
      expect(yield* log.verify(seen)).toMatchObject({ rows: 9n, brokenAt: null })
      yield* tamper(REMOVED)
      yield* sql`UPDATE audit_head SET ${sql.update(yield* Effect.fromNullishOr(early))}`
      expect((yield* verify).brokenAt).toBe(null)
      expect(yield* log.verify(seen)).toMatchObject({ rows: 2n, brokenAt: 3n })
      yield* Effect.forEach(EIGHT, () => append("another"))
      expect(yield* log.verify(seen)).toMatchObject({ rows: 7n, brokenAt: 8n })
    })
  )

  it.effect("is not keyed a second time, and no second key is created for existing hashes", () =>
    Effect.gen(function* () {
      const { append, tamper, url } = yield* given
      yield* append("first")
      yield* tamper("DELETE FROM vault_keys")
      expect((yield* Effect.flip(Effect.scoped(givenNode(url)))).message).toContain("restore the table from a backup")
      yield* tamper("UPDATE audit_head SET mac = NULL")
      expect((yield* Effect.flip(Effect.scoped(givenNode(url)))).message).toContain("restore the table from a backup")
    })
  )
})

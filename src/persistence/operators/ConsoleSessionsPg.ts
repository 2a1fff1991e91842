import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { ConsoleSessions, type NewSession, type SessionLimits } from "../../services/ports/ConsoleSessions.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { accountOf, accountRows } from "./OperatorsPg.ts"

const counts = rowsOf(Schema.Struct({ subject: Schema.String, failures: Schema.Number, since: Moment }))

/** ConsoleSessions on PostgreSQL. It owns console_sessions and console_failures; both hold hashes, names and addresses, and no secret. */
export const ConsoleSessionsPg = Layer.effect(
  ConsoleSessions,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { hash } = yield* Vault
    const trail = auditTrail(sql, hash)

    const begin = Effect.fn("ConsoleSessions.begin")(function* (
      { at, operator, replaces, tokenHash }: NewSession,
      { longestMs }: SessionLimits,
      audit: AuditEntry
    ) {
      yield* sql`DELETE FROM console_sessions WHERE created_at <= ${iso(at - longestMs)}::timestamptz OR token_hash = ${replaces}`.pipe(
        Effect.orDie
      )
      yield* trail.with(
        sql`INSERT INTO console_sessions (token_hash, operator, created_at, last_used_at)
          VALUES (${tokenHash}, ${operator}, ${iso(at)}::timestamptz, ${iso(at)}::timestamptz) RETURNING operator`,
        audit
      )
    })

    const find = Effect.fn("ConsoleSessions.find")(function* (
      tokenHash: Uint8Array,
      at: Instant,
      { idleMs, longestMs }: SessionLimits,
      used: boolean
    ) {
      const [found] = yield* accountRows(sql`
        UPDATE console_sessions s SET last_used_at = CASE WHEN ${used} THEN greatest(s.last_used_at, ${iso(at)}::timestamptz) ELSE s.last_used_at END
        FROM operators o
        WHERE s.token_hash = ${tokenHash} AND o.name = s.operator
          AND s.last_used_at > ${iso(at - idleMs)}::timestamptz AND s.created_at > ${iso(at - longestMs)}::timestamptz
        RETURNING o.name, o.role, o.created_at AS "createdAt", o.token_hash AS "tokenHash", o.access_seal AS "accessSeal"`)
      return Option.map(yield* accountOf(hash, found), ({ createdAt, name, role }) => ({ createdAt, name, role }))
    })

    const end = Effect.fn("ConsoleSessions.end")((tokenHash: Uint8Array, audit: AuditEntry) =>
      Effect.asVoid(trail.with(sql`DELETE FROM console_sessions WHERE token_hash = ${tokenHash} RETURNING operator`, audit))
    )

    const failures = Effect.fn("ConsoleSessions.failures")((subjects: ReadonlyArray<string>, after: Instant) =>
      counts(sql`SELECT subject, failures, since FROM console_failures
        WHERE subject = ANY (${subjects}) AND since > ${iso(after)}::timestamptz`)
    )

    const countFailure = Effect.fn("ConsoleSessions.countFailure")(function* (
      subjects: ReadonlyArray<string>,
      at: Instant,
      after: Instant
    ) {
      yield* Effect.orDie(sql`DELETE FROM console_failures WHERE since <= ${iso(after)}::timestamptz`)
      // In one order, so that two of them never wait for each other.
      return yield* counts(sql`INSERT INTO console_failures (subject, failures, since)
        SELECT subject, 1, ${iso(at)}::timestamptz FROM unnest(${[...subjects].sort()}::text[]) AS s(subject)
        ON CONFLICT (subject) DO UPDATE SET failures = console_failures.failures + 1
        RETURNING subject, failures, since`)
    })

    const recordLockOut = Effect.fn("ConsoleSessions.recordLockOut")((audit: AuditEntry) =>
      Effect.orDie(sql.withTransaction(trail.write(audit)))
    )

    return ConsoleSessions.of({ begin, find, end, failures, countFailure, recordLockOut })
  })
)

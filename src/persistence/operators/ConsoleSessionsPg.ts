import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { ConsoleSessions } from "../../services/ports/ConsoleSessions.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { accountOf, accountRows } from "./OperatorsPg.ts"

const counts = rowsOf(Schema.Struct({ subject: Schema.String, failures: Schema.Number, since: Moment }))

/** ConsoleSessions on PostgreSQL. It owns console_sessions and console_failures; both hold hashes, names and addresses, and no secret. */
export const ConsoleSessionsPg = layerOf(ConsoleSessions)(function* () {
  const sql = yield* SqlClient.SqlClient
  const { hash } = yield* Vault
  const trail = auditTrail(sql, hash)
  /** The removal of an operator holds the audit log's head when it locks the operator and the sessions, so here it comes first, too. */
  const behindHead = <A, E>(written: Effect.Effect<A, E>) => Effect.andThen(sql`SELECT FROM audit_head_locked()`, written)

  return {
    begin: Effect.fn("ConsoleSessions.begin")(function* ({ at, operator, replaces, tokenHash }, { longestMs }, audit) {
      yield* sql`DELETE FROM console_sessions WHERE created_at <= ${iso(at - longestMs)}::timestamptz OR token_hash = ${replaces}`.pipe(
        Effect.orDie
      )
      // None for an operator who was removed since the token was compared.
      yield* trail.with(
        behindHead(sql`INSERT INTO console_sessions (token_hash, operator, created_at, last_used_at)
        SELECT ${tokenHash}, o.name, ${iso(at)}::timestamptz, ${iso(at)}::timestamptz FROM operators o WHERE o.name = ${operator} RETURNING operator`),
        audit
      )
    }),

    find: Effect.fn("ConsoleSessions.find")(function* (tokenHash, at, { idleMs, longestMs }, used) {
      const [found] = yield* accountRows(sql`
      UPDATE console_sessions s SET last_used_at = CASE WHEN ${used} THEN greatest(s.last_used_at, ${iso(at)}::timestamptz) ELSE s.last_used_at END
      FROM operators o
      WHERE s.token_hash = ${tokenHash} AND o.name = s.operator
        AND s.last_used_at > ${iso(at - idleMs)}::timestamptz AND s.created_at > ${iso(at - longestMs)}::timestamptz
      RETURNING o.name, o.role, o.created_at AS "createdAt", o.token_hash AS "tokenHash", o.access_seal AS "accessSeal"`)
      return Option.map(yield* accountOf(hash, found), ({ createdAt, name, role }) => ({ createdAt, name, role }))
    }),

    end: Effect.fn("ConsoleSessions.end")((tokenHash, audit) =>
      Effect.asVoid(
        trail.with(behindHead(sql`DELETE FROM console_sessions WHERE token_hash = ${tokenHash} RETURNING operator`), audit)
      )
    ),

    failures: Effect.fn("ConsoleSessions.failures")((subjects, after) =>
      counts(sql`SELECT subject, failures, since FROM console_failures
      WHERE subject = ANY (${subjects}) AND since > ${iso(after)}::timestamptz`)
    ),

    countFailure: Effect.fn("ConsoleSessions.countFailure")(function* (subjects, at, after) {
      yield* Effect.orDie(sql`DELETE FROM console_failures WHERE since <= ${iso(after)}::timestamptz`)
      // In a fixed order, so that two of these statements do not deadlock.
      return yield* counts(sql`INSERT INTO console_failures (subject, failures, since)
      SELECT subject, 1, ${iso(at)}::timestamptz FROM unnest(${[...subjects].sort()}::text[]) AS s(subject)
      ON CONFLICT (subject) DO UPDATE SET failures = console_failures.failures + 1
      RETURNING subject, failures, since`)
    }),

    recordLockOut: Effect.fn("ConsoleSessions.recordLockOut")((audit) => Effect.orDie(sql.withTransaction(trail.write(audit))))
  }
})

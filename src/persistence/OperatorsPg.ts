import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { iso } from "../domain/Instant.ts"
import { OperatorName, OperatorRole } from "../domain/Operator.ts"
import type { AuditEntry } from "../services/ports/AuditLog.ts"
import { type OperatorAccount, Operators } from "../services/ports/Operators.ts"
import { Vault } from "../services/ports/Vault.ts"
import { auditTrail } from "./AuditTrail.ts"
import { Moment, rowsOf } from "./Rows.ts"

/** An operator's row. */
export const operatorColumns = { name: OperatorName, role: OperatorRole, createdAt: Moment }

const operators = rowsOf(Schema.Struct(operatorColumns))
const accounts = rowsOf(Schema.Struct({ ...operatorColumns, tokenHash: Schema.Uint8Array }))

/** Operators on PostgreSQL. It owns the table operators; console_sessions goes with its rows. */
export const OperatorsPg = Layer.effect(
  Operators,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const trail = auditTrail(sql, (yield* Vault).hash)

    const add = Effect.fn("Operators.add")(function* (account: OperatorAccount, audit: AuditEntry) {
      const { createdAt, name, role, tokenHash } = account
      const added = yield* trail.with(
        sql`INSERT INTO operators (name, role, token_hash, created_at)
          VALUES (${name}, ${role}, ${tokenHash}, ${iso(createdAt)}::timestamptz)
          ON CONFLICT (name) DO NOTHING RETURNING name`,
        audit
      )
      return added.length === 1
    })

    const list = operators(sql`SELECT name, role, created_at AS "createdAt" FROM operators ORDER BY name`)

    const remove = Effect.fn("Operators.remove")(function* (name: OperatorName, audit: AuditEntry) {
      const removed = yield* trail.with(sql`DELETE FROM operators WHERE name = ${name} RETURNING name`, audit)
      return removed.length === 1
    })

    const find = Effect.fn("Operators.find")((name: OperatorName) =>
      Effect.map(
        accounts(
          sql`SELECT name, role, created_at AS "createdAt", token_hash AS "tokenHash" FROM operators WHERE name = ${name}`
        ),
        ([found]) => Option.fromUndefinedOr(found)
      )
    )

    return Operators.of({ add, list, remove, find })
  })
)

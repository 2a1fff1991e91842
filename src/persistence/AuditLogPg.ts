import { createHash } from "node:crypto"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AuditLog, type AuditRow } from "../services/ports/AuditLog.ts"
import { Moment, rowsOf } from "./Rows.ts"

/** How many rows are verified with one statement. */
const PAGE_ROWS = 1_000

const listed = rowsOf(
  Schema.Struct({
    sequence: Schema.BigInt,
    at: Moment,
    actor: Schema.String,
    action: Schema.String,
    subject: Schema.String,
    details: Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)),
    hash: Schema.String
  })
)

const Link = Schema.Struct({
  sequence: Schema.BigInt,
  at_micros: Schema.BigInt,
  actor: Schema.String,
  action: Schema.String,
  subject: Schema.String,
  details: Schema.String,
  hash: Schema.Uint8Array
})
const links = rowsOf(Link)
const heads = rowsOf(Schema.Struct({ sequence: Schema.BigInt, hash: Schema.Uint8Array }))

/** The audit log on PostgreSQL; `append_audit` of migration 0002 writes it. */
export const AuditLogPg = Layer.effect(
  AuditLog,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const list = Effect.fn("AuditLog.list")(
      (limit: number): Effect.Effect<ReadonlyArray<AuditRow>> =>
        listed(sql`
          SELECT sequence, at, actor, action, subject, details, encode(hash, 'hex') AS hash FROM audit_log
          ORDER BY sequence DESC LIMIT ${limit}`)
    )

    const verify = Effect.gen(function* () {
      // Read first: what is appended meanwhile is beyond it.
      const [head] = yield* heads(sql`SELECT sequence, hash FROM audit_head`)
      if (head === undefined) return { rows: 0n, brokenAt: 1n }
      let previous: Uint8Array = new Uint8Array(0)
      let sequence = 0n
      while (sequence < head.sequence) {
        const page = yield* links(sql`
          SELECT sequence, (extract(epoch FROM at) * 1000000)::bigint AS at_micros, actor, action, subject, details, hash
          FROM audit_log WHERE sequence > ${sequence} AND sequence <= ${head.sequence} ORDER BY sequence LIMIT ${PAGE_ROWS}`)
        for (const link of page) {
          if (link.sequence !== sequence + 1n || !isSame(link.hash, hashOf(previous, link)))
            return { rows: sequence, brokenAt: sequence + 1n }
          previous = link.hash
          sequence = link.sequence
        }
        if (page.length === 0) return { rows: sequence, brokenAt: sequence + 1n }
      }
      return { rows: sequence, brokenAt: isSame(previous, head.hash) ? null : sequence }
    }).pipe(Effect.withSpan("AuditLog.verify"))

    return AuditLog.of({ list, verify })
  })
)

/** What `append_audit` computes in SQL, computed again here: each field is preceded by its length in bytes. */
const hashOf = (previous: Uint8Array, link: typeof Link.Type): Uint8Array => {
  const fields = [link.sequence.toString(), link.at_micros.toString(), link.actor, link.action, link.subject, link.details]
  const text = fields.map((field) => `${Buffer.byteLength(field, "utf8")}:${field},`).join("")
  return createHash("sha256").update(previous).update(text, "utf8").digest()
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

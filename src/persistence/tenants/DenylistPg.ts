import { Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { DenylistEntry, type DenylistKind, deniedSpelling, deniedSpellings, maskedEntry } from "../../domain/Denylist.ts"
import { iso } from "../../domain/Instant.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { Denylist } from "../../services/ports/Denylist.ts"
import { Screening } from "../../services/ports/Screening.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail, byteaText } from "../audit/AuditTrail.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { makeBatchedRead } from "../reads/BatchedRead.ts"

const denials = rowsOf(Schema.Struct({ ...DenylistEntry.fields, createdAt: Moment }))

const decodeMatches = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ ord: Schema.Number })))

interface Question {
  readonly kind: DenylistKind
  readonly hashes: ReadonlyArray<string>
}

const matchStatement = `
SELECT DISTINCT a.ord FROM json_to_recordset($1::json) AS a(ord int, kind text, hash text)
CROSS JOIN LATERAL (SELECT FROM denials WHERE kind = a.kind AND hash = decode(a.hash, 'hex') LIMIT 1) d`

/**
 * Denylist on PostgreSQL. `change_access` writes the table denials. Its primary key, kind and hash, makes a second entry of the same value nothing.
 */
export const DenylistPg = Layer.effect(
  Denylist,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const vault = yield* Vault
    const trail = auditTrail(sql, vault.hash)

    const hashOf = (kind: DenylistKind, spelling: string): Uint8Array => vault.hash(`denial ${kind}`, Redacted.make(spelling))

    const hashesOf = (kind: DenylistKind, value: Redacted.Redacted): ReadonlyArray<string> =>
      deniedSpellings(kind, Redacted.value(value)).map((spelling) => Buffer.from(hashOf(kind, spelling)).toString("hex"))

    const isListed = yield* makeBatchedRead((questions: ReadonlyArray<Question>) => {
      const rows = questions.flatMap(({ hashes, kind }, ord) => hashes.map((hash) => ({ ord, kind, hash })))
      return sql.unsafe(matchStatement, [JSON.stringify(rows)]).pipe(
        Effect.flatMap(decodeMatches),
        Effect.map((matches) => new Set(matches.map(({ ord }) => ord))),
        Effect.map((found) => questions.map((_, ord) => found.has(ord)))
      )
    })

    const matches = (kind: DenylistKind, values: ReadonlyArray<Redacted.Redacted>): Effect.Effect<boolean> =>
      values.length === 0 ? Effect.succeed(false) : isListed({ kind, hashes: values.flatMap((value) => hashesOf(kind, value)) })

    const add = Effect.fn("Denylist.add")(function* (
      kind: DenylistKind,
      value: Redacted.Redacted,
      reason: string,
      audit: AuditEntry
    ) {
      const hash = hashOf(kind, deniedSpelling(kind, Redacted.value(value)))
      const masked = maskedEntry(kind, Redacted.value(value))
      const to = { kind, hash: byteaText(hash), masked, reason, created_at: iso(audit.at) }
      // The hash is in the audit row, too: `audit verify` tells by it whether the entry still denies what it denied.
      const details = { ...audit.details, hash: Buffer.from(hash).toString("hex") }
      return yield* trail.change({ change: "denial add", to }, { ...audit, details })
    })

    const list = Effect.fn("Denylist.list")((kinds: ReadonlyArray<DenylistKind>, limit: number) =>
      denials(sql`SELECT kind, masked, reason, created_at AS "createdAt" FROM denials WHERE kind = ANY (${kinds})
        ORDER BY created_at DESC, masked LIMIT ${limit}`)
    )

    return Denylist.of({ matches, add, list })
  })
)

/** Screening by rows; the place where a real screening service plugs in. */
export const ScreeningByRows = Layer.effect(
  Screening,
  Effect.gen(function* () {
    const rows = yield* Denylist
    return Screening.of({
      check: Effect.fnUntraced(function* ({ names, numbers }) {
        const denied = yield* Effect.all([rows.matches("screened_number", numbers), rows.matches("screened_name", names)], {
          concurrency: "unbounded"
        })
        return denied.includes(true) ? "denied" : "clear"
      })
    })
  })
)

import { Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { DenylistEntry, type DenylistKind, maskedEntry, normalizedName, normalizedNumber } from "../domain/Denylist.ts"
import { iso } from "../domain/Instant.ts"
import type { AuditEntry } from "../services/ports/AuditLog.ts"
import { Denylist } from "../services/ports/Denylist.ts"
import { Screening } from "../services/ports/Screening.ts"
import { Vault } from "../services/ports/Vault.ts"
import { auditTrail } from "./AuditTrail.ts"
import { makeBatchedRead } from "./BatchedRead.ts"
import { makeRowCache } from "./RowCache.ts"
import { Moment, rowsOf } from "./Rows.ts"

const denials = rowsOf(Schema.Struct({ ...DenylistEntry.fields, createdAt: Moment }))

/** A list that is no longer is kept whole; of a longer one each request asks for its own values. */
const KEPT_AT_MOST = 2_000
const keptRows = rowsOf(Schema.Struct({ name: Schema.String }))

const decodeMatches = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ ord: Schema.Number })))

interface Question {
  readonly kind: DenylistKind
  readonly hashes: ReadonlyArray<string>
}

const matchStatement = `
SELECT DISTINCT a.ord FROM json_to_recordset($1::json) AS a(ord int, kind text, hash text)
CROSS JOIN LATERAL (SELECT FROM denials WHERE kind = a.kind AND hash = decode(a.hash, 'hex') LIMIT 1) d`

/**
 * Denylist on PostgreSQL. It owns the table denials. Its primary key, kind and hash, makes a second entry of the same value nothing. A short list is
 * cached, because every payout and charge is looked up in it.
 */
export const DenylistPg = Layer.effect(
  Denylist,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const vault = yield* Vault
    const trail = auditTrail(sql, vault.hash)
    const unchanged = yield* makeRowCache(sql)

    /** Null where there are too many to keep. */
    const kept = yield* unchanged.keep({
      read: (lists) =>
        Effect.map(
          keptRows(sql`SELECT kind || ' ' || encode(hash, 'hex') AS name FROM denials LIMIT ${KEPT_AT_MOST + 1}`),
          (rows) => lists.map(() => (rows.length > KEPT_AT_MOST ? null : new Set(rows.map(({ name }) => name))))
        ),
      atMost: 1
    })

    const hashOf = (kind: DenylistKind, value: Redacted.Redacted): Uint8Array => {
      const spelled = kind === "screened_name" ? normalizedName(Redacted.value(value)) : normalizedNumber(Redacted.value(value))
      return vault.hash(`denial ${kind}`, Redacted.make(spelled))
    }

    const isListed = yield* makeBatchedRead((questions: ReadonlyArray<Question>) => {
      const rows = questions.flatMap(({ hashes, kind }, ord) => hashes.map((hash) => ({ ord, kind, hash })))
      return sql.unsafe(matchStatement, [JSON.stringify(rows)]).pipe(
        Effect.flatMap(decodeMatches),
        Effect.map((matches) => new Set(matches.map(({ ord }) => ord))),
        Effect.map((found) => questions.map((_, ord) => found.has(ord)))
      )
    })

    const matches = Effect.fnUntraced(function* (kind: DenylistKind, values: ReadonlyArray<Redacted.Redacted>) {
      if (values.length === 0) return false
      const whole = yield* kept.get("all")
      if (whole?.size === 0) return false
      const hashes = values.map((value) => Buffer.from(hashOf(kind, value)).toString("hex"))
      return whole === null ? yield* isListed({ kind, hashes }) : hashes.some((hash) => whole.has(`${kind} ${hash}`))
    })

    const add = Effect.fn("Denylist.add")(function* (
      kind: DenylistKind,
      value: Redacted.Redacted,
      reason: string,
      audit: AuditEntry
    ) {
      const rows = yield* trail.withKept(
        sql`
          INSERT INTO denials (kind, hash, masked, reason, created_at)
          VALUES (${kind}, ${hashOf(kind, value)}, ${maskedEntry(kind, Redacted.value(value))}, ${reason}, ${iso(audit.at)}::timestamptz)
          ON CONFLICT (kind, hash) DO NOTHING RETURNING kind`,
        audit
      )
      yield* unchanged.forget
      return rows.length === 1
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

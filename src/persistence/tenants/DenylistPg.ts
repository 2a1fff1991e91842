import { Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  besideSpelling,
  type Denial,
  type DeniedParty,
  DenylistEntry,
  type DenylistKind,
  deniedSpellings,
  type NamedValue
} from "../../domain/Denylist.ts"
import { iso } from "../../domain/Instant.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { Denylist } from "../../services/ports/Denylist.ts"
import { Screening } from "../../services/ports/Screening.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail, byteaText } from "../audit/AuditTrail.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { makeBatchedRead } from "../reads/BatchedRead.ts"

const denials = rowsOf(Schema.Struct({ ...DenylistEntry.fields, createdAt: Moment }))
const parties = rowsOf(Schema.Struct({ party: DenylistEntry.fields.party }))

const decodeMatches = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ ord: Schema.Number })))

interface Question {
  readonly kind: DenylistKind
  readonly hashes: ReadonlyArray<{ readonly hash: string; readonly party: DeniedParty | "unsaid" | null }>
}

const matchStatement = `
SELECT DISTINCT a.ord FROM json_to_recordset($1::json) AS a(ord int, kind text, hash text, party text)
CROSS JOIN LATERAL (
  SELECT FROM denials d WHERE d.kind = a.kind AND d.hash = decode(a.hash, 'hex') AND (d.party IS NULL OR a.party IS NULL OR d.party = a.party)
  LIMIT 1
) d`

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

    const hashesOf = (kind: DenylistKind, value: NamedValue): Question["hashes"] =>
      deniedSpellings(kind, value).map(({ of: party, spelling }) => ({
        hash: Buffer.from(hashOf(kind, spelling)).toString("hex"),
        party
      }))

    const isListed = yield* makeBatchedRead((questions: ReadonlyArray<Question>) => {
      const rows = questions.flatMap(({ hashes, kind }, ord) => hashes.map((one) => ({ ord, kind, ...one })))
      return sql.unsafe(matchStatement, [JSON.stringify(rows)]).pipe(
        Effect.flatMap(decodeMatches),
        Effect.map((matches) => new Set(matches.map(({ ord }) => ord))),
        Effect.map((found) => questions.map((_, ord) => found.has(ord)))
      )
    })

    const matches = (kind: DenylistKind, values: ReadonlyArray<NamedValue>): Effect.Effect<boolean> =>
      values.length === 0 ? Effect.succeed(false) : isListed({ kind, hashes: values.flatMap((value) => hashesOf(kind, value)) })

    const add = Effect.fn("Denylist.add")(function* (kind: DenylistKind, denial: Denial, reason: string, audit: AuditEntry) {
      const { masked, party, spelling } = denial
      const put = (spelled: string) => {
        const hash = hashOf(kind, spelled)
        const to = { kind, hash: byteaText(hash), party, masked, reason, created_at: iso(audit.at) }
        // The hash is in the audit row, too: `audit verify` tells by it whether the entry still denies what it denied.
        const details = { ...audit.details, hash: Buffer.from(hash).toString("hex"), ...(party === null ? {} : { party }) }
        return trail.change({ change: "denial add", to }, { ...audit, details })
      }
      if (yield* put(spelling)) return true
      const [there] = yield* parties(sql`SELECT party FROM denials WHERE kind = ${kind} AND hash = ${hashOf(kind, spelling)}`)
      const isOfAnother = party !== null && there !== undefined && there.party !== null && there.party !== party
      return isOfAnother ? yield* put(besideSpelling(party, spelling)) : false
    })

    const list = Effect.fn("Denylist.list")((kinds: ReadonlyArray<DenylistKind>, limit: number) =>
      denials(sql`SELECT kind, party, masked, reason, created_at AS "createdAt" FROM denials WHERE kind = ANY (${kinds})
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
        const named = names.map((value): NamedValue => ({ value, party: null }))
        const denied = yield* Effect.all([rows.matches("screened_number", numbers), rows.matches("screened_name", named)], {
          concurrency: "unbounded"
        })
        return denied.includes(true) ? "denied" : "clear"
      })
    })
  })
)

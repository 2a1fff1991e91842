import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  besideSpelling,
  type Denial,
  type DeniedParty,
  type DeniedSpelling,
  DenylistEntry,
  type DenylistKind,
  deniedSpellings,
  type NamedValue
} from "../../domain/Denylist.ts"
import { iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { Denylist, type NamedParty } from "../../services/ports/Denylist.ts"
import { Screening } from "../../services/ports/Screening.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail, byteaText } from "../audit/AuditTrail.ts"
import { columnsOf } from "../connection/Columns.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { makeBatchedRead } from "../reads/BatchedRead.ts"

const denials = rowsOf(Schema.Struct({ ...DenylistEntry.fields, createdAt: Moment }))
const parties = rowsOf(Schema.Struct({ party: DenylistEntry.fields.party }))

const decodeMatches = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ ord: Schema.BigInt })))

/** A spelling that may be denied, as its hash. */
interface HashedSpelling {
  readonly kind: DenylistKind
  readonly hash: Uint8Array
  readonly party: DeniedParty | "unsaid" | null
}

const spellings = columnsOf<HashedSpelling>({
  kind: { type: "text", of: ({ kind }) => kind },
  hash: { type: "bytea", of: ({ hash }) => hash },
  party: { type: "text", of: ({ party }) => party }
})

const matchStatement = `
SELECT a.ord FROM ${spellings.rows("a", spellings.names)}
CROSS JOIN LATERAL (
  SELECT FROM denials d WHERE d.kind = a.kind AND d.hash = a.hash AND (d.party IS NULL OR a.party IS NULL OR d.party = a.party)
  LIMIT 1
) d`

/** Denylist on PostgreSQL. `change_access` writes the table denials; adding the same kind and hash again changes nothing. */
export const DenylistPg = layerOf(Denylist)(function* () {
  const sql = yield* SqlClient.SqlClient
  const vault = yield* Vault
  const trail = auditTrail(sql, vault.hash)

  const hashOf = (kind: DenylistKind, spelling: string): Uint8Array => vault.hash(`denial ${kind}`, spelling)

  // A number is compared with the rows of two kinds, and its spellings are the same for both.
  const spellingsOfNumber = new WeakMap<NamedValue, ReadonlyArray<DeniedSpelling>>()
  const spellingsOf = (kind: DenylistKind, value: NamedValue): ReadonlyArray<DeniedSpelling> => {
    if (kind === "screened_name") return deniedSpellings(kind, value)
    const known = spellingsOfNumber.get(value) ?? deniedSpellings(kind, value)
    spellingsOfNumber.set(value, known)
    return known
  }

  const hashesOf = (kind: DenylistKind, value: NamedValue): ReadonlyArray<HashedSpelling> =>
    spellingsOf(kind, value).map(({ of: party, spelling }) => ({ kind, hash: hashOf(kind, spelling), party }))

  const kindsOf = yield* makeBatchedRead((questions: ReadonlyArray<ReadonlyArray<HashedSpelling>>) =>
    sql.unsafe(matchStatement, spellings.arrays(questions.flat())).pipe(
      Effect.flatMap(decodeMatches),
      Effect.map((matches) => {
        // Rows are numbered from one.
        const denied = new Set(matches.map(({ ord }) => Number(ord) - 1))
        let row = 0
        return questions.map((asked) => new Set(asked.filter(() => denied.has(row++)).map(({ kind }) => kind)))
      })
    )
  )

  const matches = (parties: ReadonlyArray<NamedParty>): Effect.Effect<ReadonlySet<DenylistKind>> => {
    const asked = parties.flatMap(({ kind, values }) => values.flatMap((value) => hashesOf(kind, value)))
    return asked.length === 0 ? Effect.succeed(new Set()) : kindsOf(asked)
  }

  const add = Effect.fn("Denylist.add")(function* (kind: DenylistKind, denial: Denial, reason: string, audit: AuditEntry) {
    const { masked, party, spelling } = denial
    const put = (spelled: string) => {
      const hash = hashOf(kind, spelled)
      const to = { kind, hash: byteaText(hash), party, masked, reason, created_at: iso(audit.at) }
      // The hash is in the audit row, too, so that `audit verify` can check that the entry still denies the same value.
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

  return { matches, add, list }
})

/** Screening by the denylist's rows. A screening service would replace this layer. */
export const ScreeningByRows = layerOf(Screening)(function* () {
  const rows = yield* Denylist
  return {
    check: Effect.fnUntraced(function* ({ names, numbers }) {
      const denied = yield* rows.matches([
        { kind: "screened_number", values: numbers },
        { kind: "screened_name", values: names.map((value): NamedValue => ({ value, party: null })) }
      ])
      return denied.size > 0 ? "denied" : "clear"
    })
  }
})

import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type AuditHead, AuditLog, type AuditReport, type AuditRow } from "../services/ports/AuditLog.ts"
import { Vault } from "../services/ports/Vault.ts"
import { makeAccessReplay } from "./AccessReplay.ts"
import { accessDifferences, readAccess } from "./AccessRows.ts"
import { type ChainedRow, HeadRow, isAuthentic, isSame, type KeyedHash, keyedHash } from "./AuditChain.ts"
import { Moment, rowsOf } from "./Rows.ts"

/** How many rows are verified with one statement. */
const PAGE_ROWS = 1_000

const auditRows = rowsOf(
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
const chainedRows = rowsOf(
  Schema.Struct({
    sequence: Schema.BigInt,
    atMicros: Schema.BigInt,
    actor: Schema.String,
    action: Schema.String,
    subject: Schema.String,
    details: Schema.String,
    hash: Schema.Uint8Array
  })
)
const heads = rowsOf(HeadRow)
const hashes = rowsOf(Schema.Struct({ hash: Schema.String }))

/**
 * The audit chain's verifier: AuditLog on PostgreSQL. AuditChain computes the hashes, AuditTrail writes the rows. It reads audit_log and audit_head and owns neither: AuditTrail writes them. Rows are never changed, and the head is
 * read before the rows, so that it takes no lock.
 */
export const AuditLogPg = Layer.effect(
  AuditLog,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const vault = yield* Vault
    const { hash: keyed } = vault
    const headRow = readHead(sql)

    const list = Effect.fn("AuditLog.list")(
      (limit: number): Effect.Effect<ReadonlyArray<AuditRow>> =>
        auditRows(sql`
          SELECT sequence, at, actor, action, subject, details, encode(hash, 'hex') AS hash FROM audit_log
          ORDER BY sequence DESC LIMIT ${limit}`)
    )

    const verify = Effect.fn("AuditLog.verify")(
      function* (exported: AuditHead | null) {
        yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
        const replay = makeAccessReplay()
        const report = yield* verifyChain({ sql, keyed, exported, visit: replay.read })
        if (report.brokenAt !== null) return report
        return { ...report, access: accessDifferences(replay.texts(), yield* readAccess(sql, vault)) }
      },
      (effect) => Effect.orDie(sql.withTransaction(effect))
    )

    const head = Effect.map(headRow, (row) => ({ ...headOf(row), authentic: isAuthentic(keyed, row) }))

    const hashAt = Effect.fn("AuditLog.hashAt")((sequence: bigint) =>
      Effect.map(
        hashes(sql`SELECT encode(hash, 'hex') AS hash FROM audit_log WHERE sequence = ${sequence}`),
        ([row]) => row?.hash ?? null
      )
    )

    return AuditLog.of({ list, head, hashAt, verify })
  })
)

interface Chain {
  readonly sql: SqlClient.SqlClient
  readonly keyed: KeyedHash
  readonly exported: AuditHead | null
  readonly visit: (row: ChainedRow) => void
}

/** Recomputes the chain from its first row to its head, and shows each row that holds. */
export const verifyChain = Effect.fnUntraced(function* ({ exported, keyed, sql, visit }: Chain) {
  // Read first: what is appended meanwhile is beyond it.
  const row = yield* readHead(sql)
  const head = headOf(row)
  const broken = (at: bigint, why: string): AuditReport => ({ rows: at - 1n, brokenAt: at, why, head, access: null })
  let previous: Uint8Array = new Uint8Array(0)
  let sequence = 0n
  while (sequence < row.sequence) {
    const found = yield* chainedRows(sql`
      SELECT sequence, (extract(epoch FROM at) * 1000000)::bigint AS "atMicros", actor, action, subject, details, hash
      FROM audit_log WHERE sequence > ${sequence} AND sequence <= ${row.sequence} ORDER BY sequence LIMIT ${PAGE_ROWS}`)
    if (found.length === 0) return broken(sequence + 1n, MISSING)
    for (const link of found) {
      if (link.sequence !== sequence + 1n) return broken(sequence + 1n, MISSING)
      if (!isSame(link.hash, keyedHash(keyed, previous, link))) return broken(link.sequence, CHANGED)
      if (exported?.sequence === link.sequence && !hex(link.hash).startsWith(exported.hash)) return broken(link.sequence, OTHER)
      visit(link)
      previous = link.hash
      sequence = link.sequence
    }
  }
  if (!isSame(previous, row.hash)) return broken(row.sequence, CHANGED)
  if (!isAuthentic(keyed, row)) return broken(row.sequence + 1n, FORGED)
  if (exported !== null && exported.sequence > row.sequence) return broken(row.sequence + 1n, SHORTER)
  return { rows: row.sequence, brokenAt: null, why: null, head, access: [] } satisfies AuditReport
})

const MISSING = "the row is missing"
const CHANGED = "the row is not what a gateway wrote"
const FORGED = "the end of the log is not one that a gateway wrote: rows from here on are missing"
const SHORTER = "the exported head is beyond the end of the log: rows from here on are missing"
const OTHER = "the row is another than the exported head names"

/** The head as it is in the database. A log without one, which no gateway leaves, is one that nobody wrote. */
export const readHead = (sql: SqlClient.SqlClient): Effect.Effect<HeadRow> =>
  Effect.map(
    heads(sql`SELECT sequence, hash, mac FROM audit_head`),
    ([row]) => row ?? { sequence: 0n, hash: new Uint8Array(0), mac: null }
  )

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

const headOf = ({ hash, sequence }: HeadRow): AuditHead => ({ sequence, hash: hex(hash) })

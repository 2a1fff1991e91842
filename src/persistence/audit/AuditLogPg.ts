import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { type AuditFilter, type AuditHead, AuditLog, type AuditRow } from "../../services/ports/AuditLog.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { bytesEqual, type ChainedRow, HeadRow, hex, isAuthentic, type KeyedHash, keyedHash } from "../vault/AuditChain.ts"
import { makeAccessReplay } from "./AccessReplay.ts"
import { accessDifferences, readAccess } from "./AccessRows.ts"

/** How many rows one statement verifies. */
const PAGE_ROWS = 1_000
/** For a search: the rows per step back, and the steps per page. */
const STEP_ROWS = 10_000n
const STEPS_LOOKED = 20

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
const LinkRow = Schema.Struct({
  sequence: Schema.BigInt,
  atMicros: Schema.BigInt,
  actor: Schema.String,
  action: Schema.String,
  subject: Schema.String,
  details: Schema.String,
  hash: Schema.Uint8Array
})
const chainedRows = rowsOf(LinkRow)
const heads = rowsOf(HeadRow)
const hashes = rowsOf(Schema.Struct({ hash: Schema.String }))

/**
 * The audit chain's verifier: AuditLog on PostgreSQL. It reads audit_log and audit_head, which AuditTrail writes; AuditChain
 * computes the hashes. Rows are never changed, and the head is read before the rows, so it takes no lock.
 */
export const AuditLogPg = layerOf(AuditLog)(function* () {
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

  const within = ({ action, actor, from, subject, to }: AuditFilter) => sql`
    ${actor === null ? sql`` : sql`AND actor = ${actor}`}
    ${action === null ? sql`` : sql`AND (action = ${action} OR starts_with(action, ${`${action} `}))`}
    ${subject === null ? sql`` : sql`AND (subject = ${subject} OR starts_with(subject, ${`${subject}/`}))`}
    ${from === null ? sql`` : sql`AND at >= ${iso(from)}::timestamptz`}
    ${to === null ? sql`` : sql`AND at < ${iso(to)}::timestamptz`}`

  // The rows are numbered without gaps, so a step back is a range of numbers.
  const search: AuditLog["Service"]["search"] = Effect.fn("AuditLog.search")(function* (filter, { before, limit }) {
    const found: Array<AuditRow> = []
    let end = before ?? (yield* Effect.orDie(headRow)).sequence + 1n
    for (let steps = 0; steps < STEPS_LOOKED && end > 1n; steps++) {
      const room = limit - found.length
      const rows = yield* auditRows(sql`
        SELECT sequence, at, actor, action, subject, details, encode(hash, 'hex') AS hash FROM audit_log
        WHERE sequence < ${end} AND sequence >= ${end - STEP_ROWS} ${within(filter)}
        ORDER BY sequence DESC LIMIT ${room + 1}`)
      found.push(...rows.slice(0, room))
      if (rows.length > room) return { rows: found, next: found.at(-1)?.sequence ?? null }
      end -= STEP_ROWS
    }
    return { rows: found, next: end > 1n ? end : null }
  })

  const verify = Effect.fn("AuditLog.verify")(
    function* (exported: AuditHead | null) {
      yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
      const replay = makeAccessReplay()
      const { isWhole: _, ...report } = yield* verifyChain({ sql, keyed, exported, visit: replay.read })
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

  return { list, search, head, hashAt, verify }
})

interface Chain {
  readonly sql: SqlClient.SqlClient
  readonly keyed: KeyedHash
  readonly exported: AuditHead | null
  readonly visit: (row: ChainedRow) => void
}

/**
 * Recomputes the chain from its first row to its head, and visits each row that a gateway wrote. It continues after a forged
 * row: the next genuine row is chained to it, so that it cannot hide later changes. `isWhole`: no row is missing.
 */
export const verifyChain = Effect.fnUntraced(function* ({ exported, keyed, sql, visit }: Chain) {
  // Read first, so that rows appended in the meantime are beyond it.
  const row = yield* readHead(sql)
  const forged: Array<bigint> = []
  let first: { readonly at: bigint; readonly why: string } | null = null
  let isWhole = true
  let previous: Uint8Array = new Uint8Array(0)
  let sequence = 0n
  const blame = (at: bigint, why: string) => {
    first ??= { at, why }
  }
  const check = (link: typeof LinkRow.Type) => {
    const isNext = link.sequence === sequence + 1n
    if (!isNext) blame(sequence + 1n, MISSING)
    isWhole &&= isNext
    if (bytesEqual(link.hash, keyedHash(keyed, previous, link))) visit(link)
    else if (isNext) {
      blame(link.sequence, CHANGED)
      if (forged.length < FORGED_SHOWN) forged.push(link.sequence)
    }
    if (exported?.sequence === link.sequence && !hex(link.hash).startsWith(exported.hash)) blame(link.sequence, OTHER)
    previous = link.hash
    sequence = link.sequence
  }
  while (sequence < row.sequence) {
    const found = yield* chainedRows(sql`
      SELECT sequence, (extract(epoch FROM at) * 1000000)::bigint AS "atMicros", actor, action, subject, details, hash
      FROM audit_log WHERE sequence > ${sequence} AND sequence <= ${row.sequence} ORDER BY sequence LIMIT ${PAGE_ROWS}`)
    found.forEach(check)
    if (found.length > 0) continue
    blame(sequence + 1n, MISSING)
    isWhole = false
    break
  }
  if (!bytesEqual(previous, row.hash)) blame(row.sequence, CHANGED)
  if (!isAuthentic(keyed, row)) blame(row.sequence + 1n, FORGED)
  if (exported !== null && exported.sequence > row.sequence) blame(row.sequence + 1n, SHORTER)
  const { at, why } = first ?? { at: null, why: null }
  return { rows: at === null ? row.sequence : at - 1n, brokenAt: at, why, forged, head: headOf(row), isWhole }
})

/** How many forged rows are listed. */
const FORGED_SHOWN = 100

const MISSING = "the row is missing"
const CHANGED = "the row is not what a gateway wrote"
const FORGED = "the end of the log is not one that a gateway wrote: rows from here on are missing"
const SHORTER = "the exported head is beyond the end of the log: rows from here on are missing"
const OTHER = "the row is another than the exported head names"

/** The head in the database. A missing head was not left so by a gateway. */
const readHead = (sql: SqlClient.SqlClient): Effect.Effect<HeadRow> =>
  Effect.map(
    heads(sql`SELECT sequence, hash, mac FROM audit_head`),
    ([row]) => row ?? { sequence: 0n, hash: new Uint8Array(0), mac: null }
  )

const headOf = ({ hash, sequence }: HeadRow): AuditHead => ({ sequence, hash: hex(hash) })

import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import { OperatorName, OperatorRole } from "../../domain/Operator.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { type OperatorAccount, Operators } from "../../services/ports/Operators.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail, byteaText } from "../audit/AuditTrail.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { fits, operatorSeal } from "../vault/AccessSeals.ts"
import type { KeyedHash } from "../vault/AuditChain.ts"

const operatorColumns = { name: OperatorName, role: OperatorRole, createdAt: Moment }

const operators = rowsOf(Schema.Struct(operatorColumns))
const AccountRow = Schema.Struct({
  ...operatorColumns,
  tokenHash: Schema.Uint8Array,
  accessSeal: Schema.NullOr(Schema.Uint8Array)
})
/** An operator's row with the data for verifying its seal. */
export const accountRows = rowsOf(AccountRow)
const NOT_OURS = "an operator is refused: the row is not as a gateway wrote it, so run gateway audit verify"

/** The account of a row that a gateway wrote. Any other row is refused and reported. Acting operators are looked up with this. */
export const accountOf = Effect.fnUntraced(function* (keyed: KeyedHash, row: typeof AccountRow.Type | undefined) {
  if (row === undefined) return Option.none<OperatorAccount>()
  const { accessSeal, ...account } = row
  if (fits(accessSeal, operatorSeal(keyed, account))) return Option.some<OperatorAccount>(account)
  yield* Effect.annotateLogs(Effect.logError(NOT_OURS), { access_rows: `operator ${account.name}` })
  return Option.none<OperatorAccount>()
})

/** Operators on PostgreSQL: `change_access` writes the table; console_sessions are deleted with its rows. */
export const OperatorsPg = layerOf(Operators)(function* () {
  const sql = yield* SqlClient.SqlClient
  const { hash } = yield* Vault
  const trail = auditTrail(sql, hash)

  const add = Effect.fn("Operators.add")((account: OperatorAccount, audit: AuditEntry) => {
    const { createdAt, name, role, tokenHash } = account
    const seal = operatorSeal(hash, account)
    const to = { name, role, token_hash: byteaText(tokenHash), access_seal: byteaText(seal), created_at: iso(createdAt) }
    return trail.change({ change: "operator add", to }, audit)
  })

  const list = operators(sql`SELECT name, role, created_at AS "createdAt" FROM operators ORDER BY name`)

  const remove = Effect.fn("Operators.remove")((name: OperatorName, audit: AuditEntry) =>
    trail.change({ change: "operator remove", to: { name } }, audit, sql`SELECT id FROM hold_proposals(NULL, ${name})`)
  )

  const find = Effect.fn("Operators.find")(function* (name: OperatorName) {
    const [found] =
      yield* accountRows(sql`SELECT name, role, created_at AS "createdAt", token_hash AS "tokenHash", access_seal AS "accessSeal"
      FROM operators WHERE name = ${name}`)
    return yield* accountOf(hash, found)
  })

  return { add, list, remove, find }
})

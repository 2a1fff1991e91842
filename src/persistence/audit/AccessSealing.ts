import { Clock, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Vault } from "../../services/ports/Vault.ts"
import { makeAccessReplay } from "./AccessReplay.ts"
import { keys, operators } from "./AccessRows.ts"
import { verifyChain } from "./AuditLogPg.ts"
import { auditTrail, byteaText } from "./AuditTrail.ts"

/** A marker in vault_keys once sealing is done. The gateways' role can neither add nor remove it. */
const SEALED = "access_seals"

/**
 * Seals the keys and operators from before rows had seals, once in the life of a database: the first program with seals does it
 * when it starts. A key is sealed if a genuine row of the audit log has the same mode and role, and if its secret opens in its
 * place. An operator is not, because the log says nothing about a token, which may have been copied from another row, so each
 * operator gets a new one. Afterwards a row without its seal is refused.
 */
export const AccessSealing = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const vault = yield* Vault
    const isDone = Effect.map(sql`SELECT FROM vault_keys WHERE purpose = ${SEALED}`, (rows) => rows.length > 0)

    const sealAll = Effect.gen(function* () {
      // Of nodes that start together, one does it.
      yield* sql`SELECT sequence FROM audit_head_locked()`
      if (yield* isDone) return
      const replay = makeAccessReplay()
      const { brokenAt, isWhole } = yield* verifyChain({ sql, keyed: vault.hash, exported: null, visit: replay.read })
      // Missing rows may still be restored: until then nothing is decided, and no marker is written.
      if (!isWhole) return yield* Effect.annotateLogs(Effect.logError(NOT_YET), { audit_row: String(brokenAt) })
      const said = replay.texts()
      const rows = [
        ...(yield* operators(sql, vault)).map(({ hasSeal, name }) => ({
          hasSeal,
          subject: `operator ${name}`,
          text: "",
          to: null
        })),
        ...(yield* keys(sql, vault)).flatMap(({ caller: { appId, keyId }, isRevoked, seal, ...one }) =>
          isRevoked
            ? []
            : {
                ...one,
                subject: `key ${appId}/${keyId}`,
                to: seal === null ? null : { app_id: appId, key_id: keyId, seal: byteaText(seal) }
              }
        )
      ].filter(({ hasSeal }) => !hasSeal)
      const vouched = rows.filter(({ subject, text, to }) => to !== null && said.get(subject) === text)
      const refused = rows.filter((one) => !vouched.includes(one)).map(({ subject }) => subject)
      const marker = yield* vault.seal(SEALED, Redacted.make("1"))
      yield* sql`SELECT seal_access(${marker}, ${JSON.stringify(vouched.map(({ to }) => to))}::json)`
      if (rows.length === 0) return
      const at = yield* Clock.currentTimeMillis
      const details = { sealed: String(vouched.length), refused: refused.join(", ") }
      yield* auditTrail(sql, vault.hash).write({
        at,
        actor: "gateway",
        action: "access seal",
        subject: "keys and operators",
        details
      })
      if (refused.length > 0)
        yield* Effect.annotateLogs(Effect.logError(REFUSED), { access_rows: refused.join(", "), audit_row: String(brokenAt) })
    })

    if (!(yield* isDone)) yield* sql.withTransaction(sealAll)
  }).pipe(Effect.orDie)
)

const REFUSED =
  "keys or operators are refused from now on: operators need a new account (gateway operator remove, then add); for a key run gateway audit verify"
const NOT_YET =
  "no key has its seal yet, and none is accepted, because rows of the audit log are missing: run gateway audit verify, put them back, and start again"

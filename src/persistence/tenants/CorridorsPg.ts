import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Corridor, type CorridorKey } from "../../domain/Corridor.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { Corridors } from "../../services/ports/Corridors.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { cachedQuery } from "../reads/CachedQuery.ts"

const corridors = rowsOf(Schema.Struct({ ...Corridor.fields, updatedAt: Moment }))
const changedAt = rowsOf(Schema.Struct({ updatedAt: Moment }))

/**
 * Corridors on PostgreSQL. The table corridors has one row per primary key, which `change_access` writes whole; the last of two
 * changes wins. The whole list is small and is read at once.
 *
 * The column `active` is the corridor's switch. `gateway corridor set` (`commands/Corridor`) changes it, and
 * `Admission.corridor` refuses every request to an inactive corridor.
 */
export const CorridorsPg = layerOf(Corridors)(function* () {
  const sql = yield* SqlClient.SqlClient
  const trail = auditTrail(sql, (yield* Vault).hash)

  const read = corridors(sql`
      SELECT country, currency, direction, method, active, providers, preference, networks, minimum_minor AS minimum, maximum_minor AS maximum,
        customer_action AS "customerAction", requires_redirect_url AS "requiresRedirectUrl", requires_msisdn AS "requiresMsisdn", requires_name AS "requiresName",
        destination_currencies AS "destinationCurrencies", availability, inactive_reason AS "inactiveReason", updated_at AS "updatedAt"
      FROM corridors ORDER BY country, currency, direction, method`)

  const { forget, get: list } = yield* cachedQuery(read)

  const find = Effect.fnUntraced(function* (key: CorridorKey) {
    const rows = yield* list
    return Option.fromUndefinedOr(rows.find((row) => isNamed(row, key)))
  })

  /** Under the lock of the audit head, which every change of a corridor holds until its commit. */
  const isAsSeen = Effect.fnUntraced(function* ({ country, currency, direction, method }: CorridorKey, seen: Instant | null) {
    yield* sql`SELECT FROM audit_head_locked()`
    const [row] = yield* changedAt(sql`SELECT updated_at AS "updatedAt" FROM corridors
        WHERE country = ${country} AND currency = ${currency} AND direction = ${direction} AND method = ${method}`)
    return (row?.updatedAt ?? null) === seen
  })

  const put = Effect.fn("Corridors.put")(
    function* (corridor: Corridor, audit: AuditEntry, seen?: Instant | null) {
      if (seen !== undefined && !(yield* isAsSeen(corridor, seen))) return false
      const row = rowOf(corridor)
      // The audit row contains the whole corridor, so that `audit verify` can compare it.
      const details = { ...audit.details, row: JSON.stringify(row) }
      return yield* trail.change({ change: "corridor set", to: row }, { ...audit, details })
    },
    (effect) => Effect.ensuring(Effect.orDie(sql.withTransaction(effect)), forget)
  )

  return { list, find, put }
})

const rowOf = (corridor: Corridor) => ({
  country: corridor.country,
  currency: corridor.currency,
  direction: corridor.direction,
  method: corridor.method,
  active: corridor.active,
  providers: corridor.providers,
  preference: corridor.preference,
  networks: corridor.networks,
  minimum_minor: corridor.minimum?.toString() ?? null,
  maximum_minor: corridor.maximum?.toString() ?? null,
  customer_action: corridor.customerAction,
  requires_redirect_url: corridor.requiresRedirectUrl,
  requires_msisdn: corridor.requiresMsisdn,
  requires_name: corridor.requiresName,
  destination_currencies: corridor.destinationCurrencies,
  availability: corridor.availability,
  inactive_reason: corridor.inactiveReason,
  updated_at: iso(corridor.updatedAt)
})

const isNamed = (row: CorridorKey, key: CorridorKey): boolean =>
  row.country === key.country && row.currency === key.currency && row.direction === key.direction && row.method === key.method

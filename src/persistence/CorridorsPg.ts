import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Corridor, type CorridorKey } from "../domain/Corridor.ts"
import { iso } from "../domain/Instant.ts"
import type { AuditEntry } from "../services/ports/AuditLog.ts"
import { Corridors } from "../services/ports/Corridors.ts"
import { Vault } from "../services/ports/Vault.ts"
import { auditTrail } from "./AuditTrail.ts"
import { cachedQuery } from "./CachedQuery.ts"
import { Moment, rowsOf } from "./Rows.ts"

const corridors = rowsOf(Schema.Struct({ ...Corridor.fields, updatedAt: Moment }))

/**
 * Corridors on PostgreSQL. It owns the table corridors: a row a primary key, written by one upsert, of which the last one holds. The whole
 * list is small and is read as one.
 *
 * The column `active` is the corridor's switch. `gateway corridor set` (`commands/Corridor`) turns it, and `Admission.corridor` refuses
 * every request to a corridor that is off.
 */
export const CorridorsPg = Layer.effect(
  Corridors,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const trail = auditTrail(sql, (yield* Vault).hash)

    const read = corridors(sql`
      SELECT country, currency, direction, method, active, providers, networks, minimum_minor AS minimum, maximum_minor AS maximum,
        customer_action AS "customerAction", requires_redirect_url AS "requiresRedirectUrl", requires_msisdn AS "requiresMsisdn",
        destination_currencies AS "destinationCurrencies", availability, inactive_reason AS "inactiveReason", updated_at AS "updatedAt"
      FROM corridors ORDER BY country, currency, direction, method`)

    const { forget, get: list } = yield* cachedQuery(read)

    const find = Effect.fnUntraced(function* (key: CorridorKey) {
      const rows = yield* list
      return Option.fromUndefinedOr(rows.find((row) => isNamed(row, key)))
    })

    const put = Effect.fn("Corridors.put")(function* (corridor: Corridor, audit: AuditEntry) {
      yield* trail.withKept(
        sql`
          INSERT INTO corridors (country, currency, direction, method, active, providers, networks, minimum_minor, maximum_minor,
            customer_action, requires_redirect_url, requires_msisdn, destination_currencies, availability, inactive_reason, updated_at)
          VALUES (${corridor.country}, ${corridor.currency}, ${corridor.direction}, ${corridor.method}, ${corridor.active},
            ${corridor.providers}, ${corridor.networks}, ${corridor.minimum}, ${corridor.maximum}, ${corridor.customerAction},
            ${corridor.requiresRedirectUrl}, ${corridor.requiresMsisdn}, ${corridor.destinationCurrencies}, ${corridor.availability},
            ${corridor.inactiveReason}, ${iso(corridor.updatedAt)}::timestamptz)
          ON CONFLICT (country, currency, direction, method) DO UPDATE SET active = EXCLUDED.active, providers = EXCLUDED.providers,
            networks = EXCLUDED.networks, minimum_minor = EXCLUDED.minimum_minor, maximum_minor = EXCLUDED.maximum_minor,
            customer_action = EXCLUDED.customer_action, requires_redirect_url = EXCLUDED.requires_redirect_url,
            requires_msisdn = EXCLUDED.requires_msisdn, destination_currencies = EXCLUDED.destination_currencies,
            availability = EXCLUDED.availability, inactive_reason = EXCLUDED.inactive_reason, updated_at = EXCLUDED.updated_at
          RETURNING country`,
        audit
      )
      yield* forget
    })

    return Corridors.of({ list, find, put })
  })
)

const isNamed = (row: CorridorKey, key: CorridorKey): boolean =>
  row.country === key.country && row.currency === key.currency && row.direction === key.direction && row.method === key.method

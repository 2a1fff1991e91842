import type { SqlClient, Statement } from "effect/sql"

// Finds payments by one of the tenant's own ids whose meaning is unknown: an idempotency key, or the value of a metadata
// member. Each function returns a table of times and references.

/** Metadata is searched under the names of a tenant's newest records, because the index has name and value together. */
const NAMES_AT_MOST = 40

interface Walk {
  /** The tenant and mode: `app_id = … AND mode = …`, with `created_at > '-infinity'`, by which its newest records are found. */
  readonly owner: Statement.Fragment
  /** How many of the newest records are read to collect the names. */
  readonly records: number
  /** The same conditions and the time range of the walk, on `metadata_members`. */
  readonly within: Statement.Fragment
  /** How many places per name. */
  readonly limit: number
}

/** Many records may share one value, such as a country, so each name has its own bounded walk. */
export const placesOfValue = (sql: SqlClient.SqlClient, value: string, { limit, owner, records, within }: Walk) => sql`(
  SELECT DISTINCT place.created_at, place.reference FROM (
    SELECT metadata_member(m.name, ${value}) AS sought FROM (
      SELECT record, created_at FROM transactions WHERE ${owner} ORDER BY created_at DESC, reference DESC LIMIT ${records}
    ) newest CROSS JOIN LATERAL json_object_keys((well_formed(newest.record) ->> 'metadata')::json) AS m(name)
    GROUP BY m.name ORDER BY max(newest.created_at) DESC, m.name LIMIT ${NAMES_AT_MOST}
  ) names CROSS JOIN LATERAL (
    SELECT created_at, reference FROM metadata_members WHERE member = names.sought AND ${within}
    ORDER BY created_at DESC, reference DESC LIMIT ${limit}
  ) place) of_value`

interface KeyOwner {
  readonly appId: Statement.Fragment | string
  readonly mode: Statement.Fragment | string
  readonly endpoints: ReadonlyArray<string>
}

/** Works for as long as the key is kept. */
export const placesOfKey = (sql: SqlClient.SqlClient, key: string, { appId, endpoints, mode }: KeyOwner) => sql`(
  SELECT k.app_id, k.mode, record.created_at, record.reference FROM idempotency_keys k CROSS JOIN LATERAL (
    SELECT created_at, reference FROM transactions WHERE app_id = k.app_id AND reference = k.reference AND mode = k.mode LIMIT 1
  ) record WHERE k.app_id = ${appId} AND k.mode = ${mode} AND k.endpoint IN ${sql.in(endpoints)} AND k.key = ${key}) of_key`

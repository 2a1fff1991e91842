import type { SqlClient, Statement } from "effect/sql"

// Where the payments stand that a tenant knows by an id of its own, of which nobody says what it is: the key of a request, or the value of a member of
// metadata. Each is a table of moments and references.

/**
 * A tenant's members are looked for by the names that its newest records have, those that were used last: an index has a name and a value together, and
 * none a value alone.
 */
const NAMES_AT_MOST = 40

interface Walk {
  /** Whose: `app_id = … AND mode = …`, with `created_at > '-infinity'`, by which the tenant's newest records are found. */
  readonly owner: Statement.Fragment
  /** So many of the newest records say which names there are. */
  readonly records: number
  /** The same and the time of the walk, on `metadata_members`. */
  readonly within: Statement.Fragment
  /** Places of each name. */
  readonly limit: number
}

/** Many records may have one value, such as a country: so each name has a walk of its own, which ends. */
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

/** For as long as the key is kept. */
export const placesOfKey = (sql: SqlClient.SqlClient, key: string, { appId, endpoints, mode }: KeyOwner) => sql`(
  SELECT k.app_id, k.mode, record.created_at, record.reference FROM idempotency_keys k CROSS JOIN LATERAL (
    SELECT created_at, reference FROM transactions WHERE app_id = k.app_id AND reference = k.reference AND mode = k.mode LIMIT 1
  ) record WHERE k.app_id = ${appId} AND k.mode = ${mode} AND k.endpoint IN ${sql.in(endpoints)} AND k.key = ${key}) of_key`

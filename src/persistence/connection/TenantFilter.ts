import type { SqlClient, Statement } from "effect/sql"

/** Narrows a column to the tenants that a statement is for: `AND column = ANY (…)`, or nothing where it is for all. */
export type TenantFilter = (column: string) => Statement.Fragment

export const ofAll =
  (sql: SqlClient.SqlClient): TenantFilter =>
  () =>
    sql.literal("")

/**
 * Where all of these lie in one shard, Citus sends the statement there as it is, whatever it does. Each table of a statement has to be narrowed: one that
 * is not is looked for on every server. Only `=` is passed on from one table of a join to the next.
 */
export const ofTenants =
  (sql: SqlClient.SqlClient, appIds: ReadonlyArray<string>): TenantFilter =>
  (column) =>
    appIds.length === 1
      ? sql`AND ${sql.literal(column)} = ${appIds[0]}`
      : sql`AND ${sql.literal(column)} = ANY (${appIds}::text[])`

export const ofNobody =
  (sql: SqlClient.SqlClient): TenantFilter =>
  () =>
    sql.literal("AND false")

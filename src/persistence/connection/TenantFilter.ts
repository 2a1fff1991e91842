import type { SqlClient, Statement } from "effect/sql"

/** Restricts a column to the tenants of a statement: `AND column = ANY (…)`, or nothing for all tenants. */
export type TenantFilter = (column: string) => Statement.Fragment

export const ofAll =
  (sql: SqlClient.SqlClient): TenantFilter =>
  () =>
    sql.literal("")

/**
 * When all of them are in one shard, Citus sends the statement there unchanged. Every table of the statement must be
 * restricted, because an unrestricted one is read on every server. Citus infers only `=` across a join.
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

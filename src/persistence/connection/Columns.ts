import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Result } from "effect"

export interface Column<Row> {
  readonly type: keyof typeof types
  readonly of: (row: Row) => string | number | bigint | boolean | Uint8Array | null
}

const types = {
  text: PgTypes.OID.text,
  int: PgTypes.OID.int4,
  bigint: PgTypes.OID.int8,
  boolean: PgTypes.OID.bool,
  bytea: PgTypes.OID.bytea,
  timestamptz: PgTypes.OID.timestamptz
} as const

/** The columns of one kind of row. In a statement they are the parameters from $1. */
export const columnsOf = <Row>(columns: Readonly<Record<string, Column<Row>>>) => {
  const all = Object.entries(columns)
  const parameter = (name: string) => `$${1 + all.findIndex(([one]) => one === name)}::${columns[name]?.type}[]`
  return {
    names: Object.keys(columns),
    /** The parameters for several rows: one array per column, in PostgreSQL's own format, which is much cheaper than JSON. */
    arrays: (rows: ReadonlyArray<Row>): ReadonlyArray<unknown> =>
      all.map(([, { of, type }]) =>
        Result.getOrThrow(
          PgTypes.array(
            rows.map((row) => storable(of(row))),
            types[type]
          )
        )
      ),
    /** The parameters for one row: one value per column. */
    values: (row: Row): ReadonlyArray<unknown> =>
      all.map(([, { of, type }]): PgTypes.Parameter => ({ ...PgTypes.text(null), oid: types[type], value: storable(of(row)) })),
    /**
     * A FROM item with one row per step, numbered from one, of the named columns. The arrays are in sub-SELECTs, so that the
     * planner does not see their lengths: otherwise it would prefer a plan for this length, and plan the whole statement again
     * each time, which takes longer than a single step.
     */
    rows: (alias: string, names: ReadonlyArray<string>) =>
      `unnest(${names.map((name) => `(SELECT ${parameter(name)})`).join(", ")}) WITH ORDINALITY AS ${alias}(${names.join(", ")}, ord)`,
    /** One row's value, read where it is needed, so that long values are not copied between parts of the statement. */
    value: (name: string, ord: string) => `(${parameter(name)})[${ord}]`
  }
}

/** A call of a function that takes these columns by name. */
export const callOf = (name: string, columns: ReadonlyArray<string>): string =>
  `${name}(${columns.map((column, index) => `p_${column} => $${index + 1}`).join(", ")})`

/** As `callOf`, for a function of one tenant (FunctionFiles.ts), its first column. A NULL there would crash the coordinator. */
export const callOfTenant = (name: string, [tenant, ...columns]: ReadonlyArray<string>): string =>
  `${name}_of_tenant(${[`p_${tenant} => coalesce($1, '')`, ...columns.map((column, index) => `p_${column} => $${index + 2}`)].join(", ")})`

/** PostgreSQL stores neither NUL nor lone surrogates, and a provider's text with one must not keep a fact from being written. */
export const storable = <A>(value: A): A | string =>
  typeof value === "string" && (value.includes("\u0000") || !value.isWellFormed())
    ? value.replaceAll("\u0000", "").toWellFormed()
    : value

/** The same for JSON: a single such text in it would make it unreadable for SQL. */
export const storableJson = (value: unknown): string => {
  const text = JSON.stringify(value)
  return /\\u(0000|d[89a-f])/.test(text) ? JSON.stringify(JSON.parse(text), (_, one: unknown) => storable(one)) : text
}

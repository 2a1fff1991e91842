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

/** The columns of one kind of row. In a statement they are the parameters from $1 on. */
export const columnsOf = <Row>(columns: Readonly<Record<string, Column<Row>>>) => {
  const all = Object.entries(columns)
  const parameter = (name: string) => `$${1 + all.findIndex(([one]) => one === name)}::${columns[name]?.type}[]`
  return {
    names: Object.keys(columns),
    /** The parameters for several rows: an array a column, in PostgreSQL's own form, which costs it less than JSON by far. */
    arrays: (rows: ReadonlyArray<Row>): ReadonlyArray<unknown> =>
      all.map(([, { of, type }]) =>
        Result.getOrThrow(
          PgTypes.array(
            rows.map((row) => storable(of(row))),
            types[type]
          )
        )
      ),
    /** The parameters for one row: a value a column. */
    values: (row: Row): ReadonlyArray<unknown> =>
      all.map(([, { of, type }]): PgTypes.Parameter => ({ ...PgTypes.text(null), oid: types[type], value: storable(of(row)) })),
    /**
     * FROM: one row a step, numbered from one, of the columns that are named. Behind a SELECT the planner does not see how long an array is:
     * it would find a plan for this very length cheaper, and plan the whole statement anew each time, which takes longer than a lone step.
     */
    rows: (alias: string, names: ReadonlyArray<string>) =>
      `unnest(${names.map((name) => `(SELECT ${parameter(name)})`).join(", ")}) WITH ORDINALITY AS ${alias}(${names.join(", ")}, ord)`,
    /** One row's value, taken where it is written down and nowhere before: what is long is not carried from part to part. */
    value: (name: string, ord: string) => `(${parameter(name)})[${ord}]`
  }
}

/** The call of a function that takes these columns, each by its name. */
export const callOf = (name: string, columns: ReadonlyArray<string>): string =>
  `${name}(${columns.map((column, index) => `p_${column} => $${index + 1}`).join(", ")})`

/** As `callOf`, for a function of one tenant (FunctionFiles.ts), which is the first of the columns. One that is NULL would end Citus's coordinator. */
export const callOfTenant = (name: string, [tenant, ...columns]: ReadonlyArray<string>): string =>
  `${name}_of_tenant(${[`p_${tenant} => coalesce($1, '')`, ...columns.map((column, index) => `p_${column} => $${index + 2}`)].join(", ")})`

/** PostgreSQL keeps no NUL and no half of a character, and a provider's word with one in it must not keep a fact from being written. */
export const storable = <A>(value: A): A | string =>
  typeof value === "string" && (value.includes("\u0000") || !value.isWellFormed())
    ? value.replaceAll("\u0000", "").toWellFormed()
    : value

/** The same as JSON: one such text anywhere in it, and no SQL could take it apart any more. */
export const storableJson = (value: unknown): string => {
  const text = JSON.stringify(value)
  return /\\u(0000|d[89a-f])/.test(text) ? JSON.stringify(JSON.parse(text), (_, one: unknown) => storable(one)) : text
}

import * as PgTypes from "@effect/sql-pg/PgTypes"

const times: ReadonlyArray<number> = [PgTypes.OID.timestamptz, PgTypes.OID.timestamptzArray]

/** Our driver's parameters as node-postgres takes them. */
export const valuesOf = (parameters: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  parameters.map((parameter) => {
    if (!PgTypes.isParameter(parameter)) return parameter
    const valueOf = (one: unknown): unknown => {
      if (one instanceof Uint8Array) return Buffer.from(one)
      return times.includes(parameter.oid) && typeof one === "number" ? new Date(one) : one
    }
    return Array.isArray(parameter.value) ? parameter.value.map(valueOf) : valueOf(parameter.value)
  })

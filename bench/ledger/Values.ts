import * as PgTypes from "@effect/sql-pg/PgTypes"

/** Our driver's parameters as node-postgres takes them. */
export const valuesOf = (parameters: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  parameters.map((parameter) => {
    if (!PgTypes.isParameter(parameter) || !Array.isArray(parameter.value)) return parameter
    const { oid, value } = parameter
    return value.map((one) => {
      if (one instanceof Uint8Array) return Buffer.from(one)
      return oid === PgTypes.OID.timestamptzArray && typeof one === "number" ? new Date(one) : one
    })
  })

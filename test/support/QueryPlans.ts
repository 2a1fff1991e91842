import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"

/** A statement as it was sent. */
export interface Sent {
  readonly text: string
  readonly parameters: ReadonlyArray<unknown>
}

/** The client, and every statement that it is given. */
export const recording = (sql: SqlClient.SqlClient, sent: Array<Sent>): SqlClient.SqlClient =>
  new Proxy(sql, {
    apply: (target, self, given) => {
      const statement = Reflect.apply(target, self, given)
      if (Array.isArray(given[0]) && "raw" in given[0]) {
        const [text, parameters] = statement.compile()
        sent.push({ text, parameters })
      }
      return statement
    },
    get: (target, name, receiver) => {
      if (name !== "unsafe") return Reflect.get(target, name, receiver)
      return (text: string, parameters: ReadonlyArray<unknown>) => {
        sent.push({ text, parameters })
        return target.unsafe(text, parameters)
      }
    }
  })

/** How one table, or one index of it, is read. */
export interface Reading {
  /** Null where an index alone is read, before the rows that it found. */
  readonly table: string | null
  readonly index: string | null
  /** Nothing says where to begin and to end. */
  readonly whole: boolean
}

interface Plan {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Index Name"?: string
  readonly "Index Cond"?: string
  readonly Plans?: ReadonlyArray<Plan>
}

const decode = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ "QUERY PLAN": Schema.Unknown })))

/** Sent as it is, a statement with parameters is not explained without their values. */
export const givenExplained = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe(`CREATE FUNCTION explained(statement text) RETURNS json LANGUAGE plpgsql AS $$
    DECLARE plan json;
    BEGIN EXECUTE 'EXPLAIN (GENERIC_PLAN, FORMAT JSON) ' || statement INTO plan; RETURN plan; END $$`)
)

/**
 * How the plan reads its tables that PostgreSQL keeps for our prepared statements: one for parameters of any value, or, where a LIMIT is
 * a parameter, one for each value, because the other takes any LIMIT for a tenth of all rows and so never comes out cheaper.
 */
export const readingsOf = Effect.fnUntraced(function* ({ parameters, text }: Sent) {
  const sql = yield* SqlClient.SqlClient
  const explained = /LIMIT \$/.test(text)
    ? sql.unsafe(`EXPLAIN (FORMAT JSON) ${text}`, parameters)
    : sql`SELECT explained(${text}) AS "QUERY PLAN"`
  const [row] = yield* decode(yield* explained)
  const [{ Plan: top }]: [{ Plan: Plan }] = JSON.parse(JSON.stringify(row?.["QUERY PLAN"]))
  return [...nodes(top)].flatMap((node): ReadonlyArray<Reading> => {
    const table = node["Relation Name"]
    if (node["Node Type"] === "Seq Scan" && table !== undefined) return [{ table, index: null, whole: true }]
    const index = node["Index Name"]
    return index === undefined ? [] : [{ table: table ?? null, index, whole: node["Index Cond"] === undefined }]
  })
})

function* nodes(plan: Plan): Generator<Plan> {
  yield plan
  for (const part of plan.Plans ?? []) yield* nodes(part)
}

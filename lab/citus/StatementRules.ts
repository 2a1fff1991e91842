import { parseSync } from "libpg-query"
import { as, isFields, listOf, textOf, uncast, within, wordsOf } from "./SyntaxTree.ts"
import { type Names, tablesOfAnyTenant } from "./TenantFilter.ts"

/** What the rules have to know of the schema. */
export interface Schema extends Names {
  /** Functions that Citus sends whole to the worker that holds the tenant, which their first parameter names. */
  readonly isDelegated: (name: string) => boolean
  /** Functions that are neither immutable nor volatile: their result may change between statements. */
  readonly isStable: (name: string) => boolean
}

/** A statement and where it stands. */
export interface Statement {
  readonly text: string
  /** Inside BEGIN: a client's, in a transaction. */
  readonly inTransaction: boolean
  /** The function whose body it stands in; null for what a client sends. */
  readonly inFunction: string | null
}

interface Judged extends Statement {
  readonly tree: unknown
  readonly schema: Schema
}

type Rule = (statement: Judged) => ReadonlyArray<string>

/** A statement that names no tenant is asked of every node: one dead worker fails it for all tenants. */
const namesItsTenant: Rule = ({ schema, tree }) => tablesOfAnyTenant(tree, schema).map((table) => `${table} of no named tenant`)

/** Citus refuses it. */
const locksRowsOfOneTenant: Rule = ({ schema, tree }) => {
  const locks = [...within(tree, "LockingClause")].map(({ strength }) => textOf(strength).replace("LCS_FOR", "FOR "))
  const tables = locks.length === 0 ? [] : tablesOfAnyTenant(tree, schema)
  return tables.length === 0 ? [] : [`${locks[0]} beside ${tables.join(", ")} of no named tenant`]
}

/** It is never pushed down, and the statement's other CTEs then see what it wrote, or do not, otherwise than on PostgreSQL. */
const insertsInNoCte: Rule = ({ tree }) =>
  [...within(tree, "CommonTableExpr")]
    .filter(({ ctequery }) => as("InsertStmt", ctequery) !== undefined)
    .map(({ ctename }) => `INSERT in the CTE ${textOf(ctename)}`)

/** Sent to a worker, a CTE that was put in its reader's place has its own columns' names again. One without a table is computed before. */
const namesColumnsInsideCtes: Rule = ({ schema, tree }) =>
  [...within(tree, "CommonTableExpr")]
    .filter(({ aliascolnames, ctequery }) => {
      const tables = [...within(ctequery, "RangeVar")].filter(({ relname }) => schema.isDistributed(textOf(relname)))
      return aliascolnames !== undefined && tables.length > 0
    })
    .map(({ ctename }) => `columns named beside the CTE ${textOf(ctename)}`)

/** The server that plans it ends by signal 11, and with it every connection: for SET x = a[1], cast or not, after ON CONFLICT, too. */
const setsNoArrayElement: Rule = ({ tree }) =>
  valuesSet(tree).flatMap(({ name, value }) => {
    const indirection = listOf(as("A_Indirection", uncast(value))?.["indirection"])
    return indirection.some((one) => as("A_Indices", one) !== undefined) ? [`SET ${name} = an element of an array`] : []
  })

/** Citus refuses it: the workers could come to different results. */
const setsNoStableFunctionOfAColumn: Rule = ({ schema, tree }) =>
  valuesSet(tree).flatMap(({ name, value }) =>
    [...within(value, "FuncCall")]
      .filter(({ args, funcname }) => {
        const columns = [...within(args, "ColumnRef")].map(({ fields }) => wordsOf(fields))
        return schema.isStable(wordsOf(funcname).at(-1) ?? "") && columns.some((words) => !schema.isVariable(words))
      })
      .map(({ funcname }) => `SET ${name} = ${wordsOf(funcname).at(-1)}(a column)`)
  )

/** What is planned in several steps hands its rows on, and rows of no columns are refused. */
const selectsColumnsInSubqueries: Rule = ({ schema, tree }) => {
  const hasNone = [...within(tree, "SelectStmt")].some(
    ({ larg, targetList, valuesLists }) => larg === undefined && targetList === undefined && valuesLists === undefined
  )
  const tables = hasNone ? tablesOfAnyTenant(tree, schema) : []
  return tables.length === 0 ? [] : [`SELECT FROM, without a column, beside ${tables.join(", ")} of no named tenant`]
}

/** Workers are asked for the rows by each value, and by each column that it comes from: there is no order of json. */
const countsDistinctColumns: Rule = ({ schema, tree }) => {
  const counted = [...within(tree, "FuncCall")].filter(
    ({ agg_distinct, args }) => agg_distinct === true && listOf(args).some((one) => as("ColumnRef", one) === undefined)
  )
  const tables = counted.length === 0 ? [] : tablesOfAnyTenant(tree, schema)
  return tables.length === 0 ? [] : [`DISTINCT of an expression beside ${tables.join(", ")} of no named tenant`]
}

/** Citus has a view of that name in pg_catalog, which is searched before every other schema. */
const namesTheSchemaOfTimePartitions: Rule = ({ tree }) =>
  [...within(tree, "RangeVar")].flatMap(({ relname, schemaname }) =>
    relname === "time_partitions" && schemaname === undefined ? ["time_partitions is Citus's own there"] : []
  )

/** Elsewhere Citus runs the function on the coordinator, each of its statements over the network, and says nothing. */
const callsDelegatedFunctionsAlone: Rule = ({ inFunction, schema, tree }) => {
  const calls = delegatedCalls(tree, schema)
  return calls.flatMap(({ args, funcname }) => {
    const name = wordsOf(funcname).at(-1) ?? ""
    const places: ReadonlyArray<readonly [boolean, string]> = [
      [inFunction !== null, "from a function"],
      [calls.length > 1, "beside another call"],
      [!isCalledAlone(tree), "in a join, with WHERE, or in a part of a statement"],
      [isNullable(listOf(args)[0]), "with a tenant that may be NULL, which ends the coordinator by signal 11"]
    ]
    return places.filter(([isSo]) => isSo).map(([, place]) => `${name} called ${place}`)
  })
}

/** As there. */
const callsDelegatedFunctionsInNoTransaction: Rule = ({ inTransaction, schema, tree }) =>
  inTransaction ? delegatedCalls(tree, schema).map(({ funcname }) => `${wordsOf(funcname).at(-1)} called inside BEGIN`) : []

const delegatedCalls = (tree: unknown, schema: Schema) =>
  [...within(tree, "FuncCall")].filter(({ funcname }) => schema.isDelegated(wordsOf(funcname).at(-1) ?? ""))

/** SELECT columns FROM f(...), ORDER BY or not, and SELECT f(...). */
const isCalledAlone = (tree: unknown): boolean => {
  const select = as("SelectStmt", tree)
  const from = listOf(select?.["fromClause"])
  const rest = ["whereClause", "withClause", "groupClause", "larg", "lockingClause", "limitCount"]
  if (select === undefined || rest.some((clause) => select[clause] !== undefined)) return false
  const target = as("ResTarget", listOf(select["targetList"])[0])?.["val"]
  if (from.length === 0) return listOf(select["targetList"]).length === 1 && as("FuncCall", target) !== undefined
  const rows = as("RangeFunction", from[0])
  return from.length === 1 && rows !== undefined && rows["lateral"] === undefined
}

/** A constant is not, nor is what is coalesced with one. */
const isNullable = (argument: unknown): boolean => {
  const value = uncast(as("NamedArgExpr", argument)?.["arg"] ?? argument)
  const last = listOf(as("CoalesceExpr", value)?.["args"]).at(-1) ?? value
  const constant = as("A_Const", uncast(last))
  return constant === undefined || constant["isnull"] === true
}

/** INSERT … SELECT FROM unnest(…) ON CONFLICT costs five times what it costs selected FROM tenants CROSS JOIN unnest(…). */
const selectsConflictingRowsFromTenants: Rule = ({ inFunction, schema, tree }) =>
  inFunction === null
    ? []
    : [...within(tree, "InsertStmt")].flatMap(({ onConflictClause, relation, selectStmt }) => {
        const source = as("SelectStmt", selectStmt)
        const table = isFields(relation) ? textOf(relation["relname"]) : ""
        const isOfRows = onConflictClause !== undefined && source !== undefined && source["valuesLists"] === undefined
        const tables = [...within(source?.["fromClause"], "RangeVar")].filter(({ relname }) =>
          schema.isDistributed(textOf(relname))
        )
        return isOfRows && schema.isDistributed(table) && tables.length === 0
          ? [`INSERT INTO ${table} … ON CONFLICT selects from no table of the tenant`]
          : []
      })

/** What is set, and to what, by UPDATE and after ON CONFLICT. */
const valuesSet = (tree: unknown) =>
  ["UpdateStmt", "onConflictClause"].flatMap((kind) =>
    [...within(tree, kind)].flatMap(({ targetList }) =>
      listOf(targetList).map((target) => {
        const set = as("ResTarget", target)
        return { name: textOf(set?.["name"]), value: set?.["val"] }
      })
    )
  )

/** Each is explained where it stands. */
const rules = {
  namesItsTenant,
  locksRowsOfOneTenant,
  insertsInNoCte,
  namesColumnsInsideCtes,
  setsNoArrayElement,
  setsNoStableFunctionOfAColumn,
  selectsColumnsInSubqueries,
  countsDistinctColumns,
  namesTheSchemaOfTimePartitions,
  callsDelegatedFunctionsAlone,
  callsDelegatedFunctionsInNoTransaction,
  selectsConflictingRowsFromTenants
} satisfies Readonly<Record<string, Rule>>

export type RuleName = keyof typeof rules

export interface Offence {
  readonly rule: RuleName
  readonly what: string
}

const ruleNames: ReadonlyArray<RuleName> = Object.keys(rules).filter((name): name is RuleName => name in rules)

/** What in a statement Citus refuses, does otherwise than PostgreSQL, or dies of. */
export const offencesIn = (statement: Statement, schema: Schema): ReadonlyArray<Offence> =>
  (parseSync(statement.text).stmts ?? []).flatMap(({ stmt }) =>
    ruleNames.flatMap((rule) => rules[rule]({ ...statement, tree: stmt, schema }).map((what) => ({ rule, what })))
  )

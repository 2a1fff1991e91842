import { parsePlPgSQLSync, parseSync } from "libpg-query"
import { as, isFields, listOf, textOf, within, wordsOf } from "./SyntaxTree.ts"

/** A function as a schema defines it. */
export interface SqlFunction {
  readonly name: string
  readonly volatility: "immutable" | "stable" | "volatile"
  /** Its parameters and the variables that it declares. */
  readonly variables: ReadonlyArray<string>
  /** What it sets while it runs. */
  readonly settings: ReadonlyArray<string>
  /** The statements and expressions of its body, each as a statement of its own. */
  readonly statements: ReadonlyArray<string>
}

/** How PL/pgSQL reads a piece of its text: a whole statement, an expression, or the assignment of one. */
const STATEMENT = 0
const EXPRESSION = 2

/** Every function that a text of DDL makes, by PostgreSQL's own parsers. */
export const functionsIn = (ddl: string): ReadonlyArray<SqlFunction> => {
  const bytes = Buffer.from(ddl)
  const rowTypes = tablesIn(ddl)
  return (
    parseSync(ddl).stmts?.flatMap((raw) => {
      const made = as("CreateFunctionStmt", raw.stmt)
      const start = raw.stmt_location ?? 0
      const text = bytes.subarray(start, raw.stmt_len === undefined ? undefined : start + raw.stmt_len).toString()
      return made === undefined ? [] : [functionOf(made, withoutRowTypes(text, rowTypes))]
    }) ?? []
  )
}

/** The parser has no catalogue: an array of a table's rows is none of its types, and what it takes it for may not be written into. */
const withoutRowTypes = (text: string, rowTypes: ReadonlySet<string>): string =>
  text.replaceAll(/\b(\w+)\[\](?=;)/g, (array, type) => (rowTypes.has(type) ? "text[]" : array))

const functionOf = (made: Readonly<Record<string, unknown>>, text: string): SqlFunction => {
  const options = listOf(made["options"]).map((option) => as("DefElem", option))
  const option = (name: string) => options.find((one) => one?.["defname"] === name)?.["arg"]
  const volatility = textOf(as("String", option("volatility"))?.["sval"])
  const parameters = listOf(made["parameters"]).map((parameter) => textOf(as("FunctionParameter", parameter)?.["name"]))
  const settings = options
    .filter((one) => one?.["defname"] === "set")
    .map((one) => textOf(as("VariableSetStmt", one?.["arg"])?.["name"]))
  const body = textOf(as("String", listOf(as("List", option("as"))?.["items"])[0])?.["sval"])
  const isPlPgSql = textOf(as("String", option("language"))?.["sval"]) === "plpgsql"
  const tree = isPlPgSql ? parsePlPgSQLSync(text) : null
  return {
    name: wordsOf(made["funcname"]).at(-1) ?? "",
    volatility: volatility === "immutable" || volatility === "stable" ? volatility : "volatile",
    variables: [...parameters, ...variablesOf(tree)],
    settings,
    statements: isPlPgSql ? piecesOf(tree) : [body]
  }
}

const variablesOf = (tree: unknown): ReadonlyArray<string> =>
  [...within(tree, "PLpgSQL_var"), ...within(tree, "PLpgSQL_rec")].map(({ refname }) => textOf(refname))

const piecesOf = (tree: unknown): ReadonlyArray<string> =>
  [...within(tree, "PLpgSQL_expr")].map(({ parseMode, query }) => {
    const piece = textOf(query)
    if ((parseMode ?? STATEMENT) === STATEMENT) return piece
    if (parseMode === EXPRESSION) return `SELECT ${piece}`
    return `SELECT ${piece.slice(assignedFrom(piece))}`
  })

/** Where the value of an assignment begins. */
const assignedFrom = (piece: string): number => {
  const [sign] = /:?=/.exec(piece) ?? [""]
  return piece.indexOf(sign) + sign.length
}

/** What has to be unique in which table, by its columns: primary keys, unique constraints and unique indexes. */
export const uniqueKeysIn = (ddl: string): ReadonlyArray<{ readonly table: string; readonly columns: ReadonlyArray<string> }> =>
  parseSync(ddl).stmts?.flatMap(({ stmt }) => {
    const [table, index] = [as("CreateStmt", stmt), as("IndexStmt", stmt)]
    const of = (relation: unknown) => (isFields(relation) ? textOf(relation["relname"]) : "")
    if (index?.["unique"] === true) {
      const columns = listOf(index["indexParams"]).map((column) => textOf(as("IndexElem", column)?.["name"]))
      return [{ table: of(index["relation"]), columns }]
    }
    return listOf(table?.["tableElts"]).flatMap((element) => {
      const [column, constraint] = [as("ColumnDef", element), as("Constraint", element)]
      const all = column === undefined ? [constraint] : listOf(column["constraints"]).map((one) => as("Constraint", one))
      return all
        .filter((one) => one?.["contype"] === "CONSTR_PRIMARY" || one?.["contype"] === "CONSTR_UNIQUE")
        .map((one) => ({
          table: of(table?.["relation"]),
          columns: column === undefined ? wordsOf(one?.["keys"]) : [textOf(column["colname"])]
        }))
    })
  }) ?? []

/** The names of the tables that a text of DDL makes. */
const tablesIn = (ddl: string): ReadonlySet<string> =>
  new Set(
    [...within(parseSync(ddl), "CreateStmt")].map(({ relation }) => (isFields(relation) ? textOf(relation["relname"]) : ""))
  )

/** The views that a text of DDL makes, and what each of them shows. */
export const viewsIn = (ddl: string): ReadonlyArray<{ readonly view: string; readonly tables: ReadonlyArray<string> }> =>
  parseSync(ddl).stmts?.flatMap(({ stmt }) => {
    const made = as("ViewStmt", stmt)
    if (made === undefined || !isFields(made["view"])) return []
    return [
      {
        view: textOf(made["view"]["relname"]),
        tables: [...within(made["query"], "RangeVar")].map(({ relname }) => textOf(relname))
      }
    ]
  }) ?? []

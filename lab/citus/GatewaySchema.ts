import { tenantFunctions, tenantTables } from "../../src/persistence/connection/DistributedTables.ts"
import { functionFiles } from "../../src/persistence/schema/FunctionFiles.ts"
import { isOfBase } from "../../src/persistence/schema/Migration.ts"
import { Migrations } from "../../src/persistence/schema/Migrations.ts"
import { functionsIn, type SqlFunction, uniqueKeysIn, viewsIn } from "./SqlFunctions.ts"
import type { Schema } from "./StatementRules.ts"

/** PostgreSQL's own that are stable and that a statement of ours could use; the migrations say it of theirs. */
const STABLE =
  /^(now|convert_to|convert_from|concat|concat_ws|format|array_to_string|to_json|to_jsonb|json_build_\w+|jsonb_build_\w+|row_to_json|to_char|to_timestamp|date_trunc|timezone|current_setting)$/

/** The gateway's schema as the rules need it, by PostgreSQL's own parser, which has to be loaded. */
export const gatewaySchema = () => (read ??= readSchema())

let read: ReturnType<typeof readSchema> | undefined

const readSchema = () => {
  const ddl = [...Migrations.all.flatMap(textsOf), ...functionFiles.map(({ sql }) => sql)].join(";\n")
  // A later migration may put another in the place of one.
  const functions = [...new Map(functionsIn(ddl).map((made) => [made.name, made])).values()]
  const tables: ReadonlySet<string> = new Set(tenantTables)
  // A view is distributed where what it shows is.
  const views = viewsIn(ddl).filter((view) => view.tables.some((table) => tables.has(table)))
  const distributed = new Set([...tables, ...views.map(({ view }) => view)])
  const stable = new Set(functions.filter(({ volatility }) => volatility === "stable").map(({ name }) => name))
  const schemaFor = (isVariable: Schema["isVariable"]): Schema => ({
    isDistributed: (table) => distributed.has(table),
    isDelegated: (name) => name in tenantFunctions,
    isStable: (name) => STABLE.test(name) || stable.has(name),
    isVariable
  })
  return {
    functions,
    uniqueKeys: uniqueKeysIn(ddl).filter(({ table }) => distributed.has(table)),
    /** For what a client sends: it has parameters, and no variables. */
    clientSchema: schemaFor(() => false),
    /** For the body of a function, whose parameters and variables name a tenant. */
    schemaOf: ({ variables }: SqlFunction): Schema => schemaFor(([first = ""]) => variables.includes(first))
  }
}

const textsOf = (migration: (typeof Migrations.all)[number]): ReadonlyArray<string> =>
  isOfBase(migration) ? [migration.sql] : migration.steps.flatMap((step) => (step.form === "transaction" ? [step.sql] : []))

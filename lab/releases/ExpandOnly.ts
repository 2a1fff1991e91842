import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { functionFiles } from "../../src/persistence/schema/FunctionFiles.ts"
import { inOneStatement, type MigrationStep, type SteppedMigration } from "../../src/persistence/schema/Migration.ts"
import { SchemaFunctions } from "../../src/persistence/schema/SchemaFunctions.ts"

/** Indexes that the statements of the release before do not need, and why. */
const needless: Readonly<Record<string, string>> = {
  nonces_expiring: "it removes expired nonces by reading all of them, some tens of milliseconds for a hundred thousand"
}

/** What the release before, which runs beside the new one, would miss, trip over or wait for in a migration. Empty where it can live with it. */
export const troubles = Effect.fnUntraced(function* ({ steps }: SteppedMigration) {
  const sql = yield* SqlClient.SqlClient
  const judged = Effect.gen(function* () {
    const before = yield* catalogue(sql)
    const found = yield* Effect.forEach(steps, (step) =>
      Effect.gen(function* () {
        const from = yield* catalogue(sql)
        yield* sql.unsafe(textOf(step), step.form === "batches" ? [""] : [])
        if (step.form === "transaction" && step.withFunctions === true) yield* SchemaFunctions.put(sql, functionFiles)
        return [...troublesOfText(step), ...troublesOfChange({ before, from, to: yield* catalogue(sql) }, step)]
      })
    )
    return yield* Effect.fail(new Judged(found.flat()))
  })
  // It is undone: the next one is judged on the same schema.
  return yield* Effect.flip(sql.withTransaction(judged)).pipe(
    Effect.flatMap((end) => (end instanceof Judged ? Effect.succeed(end.troubles) : Effect.die(end)))
  )
})

class Judged {
  readonly troubles: ReadonlyArray<string>
  constructor(troubles: ReadonlyArray<string>) {
    this.troubles = troubles
  }
}

/** As it is run, but inside one transaction, on tables that hold nothing. */
const textOf = (step: MigrationStep): string => {
  switch (step.form) {
    case "transaction":
      return inOneStatement(step.sql)
    case "index":
      return `CREATE ${step.unique === true ? "UNIQUE " : ""}INDEX ${step.name} ON ${step.table} ${step.definition}`
    case "drop":
      return `DROP INDEX ${step.index}`
    case "validate":
      return `ALTER TABLE ${step.table} VALIDATE CONSTRAINT ${step.constraint}`
    case "batches":
      return step.sql
  }
}

/** Bodies of functions are not run by the migration. */
const withoutBodies = (text: string): string => text.replaceAll(/(\$\w*\$)[\s\S]*?\1/g, "''").replaceAll(/--.*$/gm, "")

const troublesOfText = (step: MigrationStep): ReadonlyArray<string> =>
  step.form === "transaction"
    ? [...withoutBodies(step.sql).matchAll(/(?:^|;)\s*(UPDATE|DELETE|TRUNCATE|LOCK)\b/gi)].map(
        ([, word = ""]) => `${word.toUpperCase()} in a transaction: rows are changed in batches`
      )
    : []

/** One thing of the schema that a program can rely on, and what has to stay as it is about it. */
interface Thing {
  readonly kind: "table" | "column" | "function" | "index" | "constraint" | "trigger" | "view column"
  /** The table where it is of one. */
  readonly of: string
  readonly name: string
  readonly form: string
  /** Of a table: the file that it lies in, which changes where it is written anew. */
  readonly file: string
  /** Of a column: it can be left out of a row. Of a constraint: the rows that were there were read. Of an index: it refuses rows. */
  readonly flag: boolean
}

const catalogue = (sql: SqlClient.SqlClient) =>
  sql<Thing>`
    WITH ours AS (SELECT c.* FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace)
    SELECT 'table' AS kind, c.relname AS of, c.relname AS name, c.relkind::text AS form, c.relfilenode::text AS file, false AS flag
      FROM ours c WHERE c.relkind IN ('r', 'p', 'v', 'S')
    UNION ALL SELECT CASE c.relkind WHEN 'v' THEN 'view column' ELSE 'column' END, c.relname, a.attname,
      format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END, '',
      NOT a.attnotnull OR a.atthasdef OR a.attidentity <> '' OR a.attgenerated <> ''
      FROM ours c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped WHERE c.relkind IN ('r', 'p', 'v')
    UNION ALL SELECT 'function', '', p.oid::regprocedure::text, pg_get_function_result(p.oid) || CASE WHEN p.prosecdef THEN ' definer' ELSE '' END, '', false
      FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace
    UNION ALL SELECT 'index', t.relname, c.relname, pg_get_indexdef(c.oid), '', i.indisunique
      FROM ours c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_class t ON t.oid = i.indrelid
    UNION ALL SELECT 'constraint', c.relname, k.conname, replace(pg_get_constraintdef(k.oid), ' NOT VALID', ''), '', k.convalidated
      FROM ours c JOIN pg_constraint k ON k.conrelid = c.oid WHERE k.contype IN ('c', 'f')
    UNION ALL SELECT 'trigger', c.relname, g.tgname, pg_get_triggerdef(g.oid), '', false
      FROM ours c JOIN pg_trigger g ON g.tgrelid = c.oid WHERE NOT g.tgisinternal`

interface Change {
  /** Before the migration, before this step, and after it. */
  readonly before: ReadonlyArray<Thing>
  readonly from: ReadonlyArray<Thing>
  readonly to: ReadonlyArray<Thing>
}

const troublesOfChange = ({ before, from, to }: Change, step: MigrationStep): ReadonlyArray<string> => {
  const isOld = (table: string) => before.some(({ kind, name }) => kind === "table" && name === table)
  const gone = before.flatMap((old) => {
    const now = like(to, old)
    if (now === undefined) return like(from, old) === undefined || isNeedless(old, step) ? [] : [`${said(old)} is taken away`]
    const earlier = like(from, old)
    if (earlier === undefined || (now.form !== earlier.form && !isWiderList(old, now)))
      return [`${said(old)} was ${old.form} and becomes ${now.form}`]
    return now.file === earlier.file ? [] : [`${said(old)} is written anew, under a lock`]
  })
  const come = to.filter((now) => like(from, now) === undefined && isOld(now.of))
  const names = new Set(before.filter(({ kind }) => kind === "function").map(({ name }) => nameOf(name)))
  const overloads = to.filter((now) => now.kind === "function" && like(from, now) === undefined && names.has(nameOf(now.name)))
  const checked = to.filter((now) => now.kind === "constraint" && now.flag && like(from, now)?.flag !== true && isOld(now.of))
  return [
    ...gone,
    ...come.flatMap((now) => Option.toArray(troubleOfNew(now, step))),
    ...overloads.map((now) => `${said(now)} has the name of another that the release before calls`),
    ...(step.form === "validate"
      ? []
      : checked.map((now) => `${said(now)} reads every row under a lock: NOT VALID, and a step that validates it`))
  ]
}

const troubleOfNew = (now: Thing, { form }: MigrationStep): Option.Option<string> => {
  switch (now.kind) {
    case "column":
      return now.flag ? Option.none() : Option.some(`${said(now)} is in no row that the release before writes`)
    case "index":
      if (now.flag) return Option.some(`${said(now)} refuses rows that the release before writes`)
      return form === "index" ? Option.none() : Option.some(`${said(now)} is built while nobody can write: a step of its own`)
    case "trigger":
      return Option.some(`${said(now)} acts on what the release before writes`)
    default:
      return Option.none()
  }
}

const like = (things: ReadonlyArray<Thing>, { kind, name, of }: Thing): Thing | undefined =>
  things.find((one) => one.kind === kind && one.of === of && one.name === name)

const WORD = /'([^']*)'::text(?:, )?/g

const isNeedless = ({ flag, kind, name }: Thing, { form }: MigrationStep): boolean =>
  kind === "index" && form === "drop" && !flag && name in needless

/** A CHECK that allows all words of the one before, and more: the release before writes none of those. */
const isWiderList = (old: Thing, now: Thing): boolean => {
  const words = ({ form }: Thing) => [...form.matchAll(WORD)].map(([, word = ""]) => word)
  const frame = ({ form }: Thing) => form.replaceAll(WORD, "")
  return now.kind === "constraint" && frame(old) === frame(now) && words(old).every((word) => words(now).includes(word))
}

const said = ({ kind, name, of }: Thing): string => (of === "" || of === name ? `${kind} ${name}` : `${kind} ${of}.${name}`)

const nameOf = (signature: string): string => signature.replace(/\(.*/, "")

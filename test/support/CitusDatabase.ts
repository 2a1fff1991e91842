import { createHash, randomBytes } from "node:crypto"
import { Effect, Redacted } from "effect"
import { EmbeddedPostgres } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import { execute, type ServerAddress, urlOf, withSession } from "./DatabaseSession.ts"

/** A database on a cluster's coordinator that knows all of its nodes, such as lab/citus/Cluster.ts makes; unset, tests run on one server. */
export const citusUrl = process.env["CITUS_URL"]

/** Databases of one run begin with its name, so that nobody removes another's. */
const prefixOf = (run: string): string => `test_${createHash("sha256").update(run).digest("hex").slice(0, 12)}_`

/** The nodes of the cluster, the coordinator first; asked once a process. */
let nodes: Promise<ReadonlyArray<ServerAddress>> | undefined
let template: Promise<void> | undefined

/**
 * A database of one test on a cluster, migrated and distributed. On each node it is a copy of the run's template there: what Citus knows of its
 * tables and shards lies in the database itself.
 */
export const freshCitusDatabase = async (url: URL, run: string, migrate: (url: string) => Promise<void>) => {
  const all = await (nodes ??= nodesOf(addressOf(url)))
  const [coordinator = addressOf(url)] = all
  await (template ??= ensureTemplate(all, coordinator, prefixOf(run), migrate))
  const database = `${prefixOf(run)}${randomBytes(6).toString("hex")}`
  await Promise.all(
    all.map((node) => execute(node, `CREATE DATABASE ${database} TEMPLATE ${prefixOf(run)}template STRATEGY file_copy`))
  )
  return { ...coordinator, database, url: urlOf({ ...coordinator, database }) }
}

/** All that a run made. */
export const removeCitusDatabases = async (run: string): Promise<void> => {
  if (citusUrl === undefined) return
  // The coordinator first, which looks after its databases on the workers for as long as it has them.
  for (const node of await nodesOf(addressOf(new URL(citusUrl))))
    await withSession(
      node,
      Effect.fnUntraced(function* (sql) {
        const found = yield* sql<{ name: string }>`
          SELECT datname AS name FROM pg_database WHERE starts_with(datname, ${prefixOf(run)})`
        for (const { name } of found) {
          yield* sql.unsafe(`ALTER DATABASE ${name} IS_TEMPLATE false`)
          yield* sql.unsafe(`DROP DATABASE ${name} WITH (FORCE)`)
        }
      })
    )
}

const addressOf = ({ hostname, password, pathname, port, username }: URL): ServerAddress => ({
  host: hostname,
  port: Number(port),
  username,
  // A server that trusts is not asked for one; the gateways' role gets one that follows from it.
  password: password === "" ? "trusted" : password,
  database: pathname.slice(1)
})

/** Statements for one node go to `postgres`, in which Citus has no part. */
const nodesOf = (coordinator: ServerAddress): Promise<ReadonlyArray<ServerAddress>> =>
  withSession(coordinator, (sql) =>
    Effect.map(
      sql<{ host: string; port: number }>`
        SELECT nodename::text AS host, nodeport::int AS port FROM pg_dist_node WHERE isactive ORDER BY groupid`,
      (rows) => rows.map(({ host, port }) => ({ ...coordinator, host, port, database: "postgres" }))
    )
  )

const ensureTemplate = (
  all: ReadonlyArray<ServerAddress>,
  coordinator: ServerAddress,
  prefix: string,
  migrate: (url: string) => Promise<void>
): Promise<void> =>
  withSession(
    coordinator,
    Effect.fnUntraced(function* (sql) {
      const name = `${prefix}template`
      // Test files run in several processes: the first makes it, the others wait for it here.
      yield* sql`SELECT pg_advisory_lock(1)`
      const made = yield* sql`SELECT FROM pg_database WHERE datname = ${name} AND datistemplate`
      if (made.length > 0) return
      yield* Effect.promise(() => Promise.all(all.map((node) => emptyDatabase(node, name))))
      yield* Effect.promise(() => joined(all, { ...coordinator, database: name }))
      yield* Effect.promise(() => migrate(urlOf({ ...coordinator, database: name })))
      yield* Effect.promise(() => Promise.all(all.map((node) => frozen(node, name))))
      yield* sql.unsafe(`ALTER DATABASE ${name} IS_TEMPLATE true`)
    })
  )

const emptyDatabase = async (node: ServerAddress, name: string): Promise<void> => {
  await execute(node, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  await execute(node, `CREATE DATABASE ${name}`)
  const { password, username } = runtimeRole(node)
  const role = `CREATE ROLE ${username} LOGIN PASSWORD '${password}'`
  await execute(node, `DO $$ BEGIN ${role}; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`)
  await execute({ ...node, database: name }, "CREATE EXTENSION citus")
}

/** As the tests know it: its password follows from the owner's. */
const runtimeRole = (server: ServerAddress): URL =>
  new URL(Redacted.value(EmbeddedPostgres.runtimeUrl({ ...server, password: Redacted.make(server.password) })))

const joined = ([first, ...workers]: ReadonlyArray<ServerAddress>, coordinator: ServerAddress): Promise<void> =>
  withSession(
    coordinator,
    Effect.fnUntraced(function* (sql) {
      if (first !== undefined) yield* sql`SELECT citus_set_coordinator_host(${first.host}, ${first.port})`
      for (const { host, port } of workers) yield* sql`SELECT citus_add_node(${host}, ${port})`
    })
  )

/** Nobody connects any more, Citus's own processes included, so that it can be copied at any time. */
const frozen = async (node: ServerAddress, name: string): Promise<void> => {
  await execute(node, `ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`)
  await execute(node, `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`)
}

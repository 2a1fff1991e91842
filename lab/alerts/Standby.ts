import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { appendFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect } from "effect"
import { Client } from "pg"
import { PostgresInstall } from "../../src/persistence/postgres/PostgresInstall.ts"
import { PostgresServer } from "../../src/persistence/postgres/PostgresServer.ts"
import type { Stage } from "../chaos/Stage.ts"
import { eventually, type Scene } from "./Scene.ts"

/** A second PostgreSQL that follows the gateways' own. */
export interface Standby {
  /** As `kill -9` does. */
  readonly kill: () => Promise<void>
  /** Until it follows. */
  readonly start: () => Promise<void>
  readonly sql: (text: string) => Promise<void>
  readonly close: () => Promise<void>
}

/** How the primary knows it. */
export const STANDBY = "drill"
const run = promisify(execFile)

/** Makes a base backup of the running database, and a server that follows it from there. */
export const openStandby = async ({ dataDir, variables }: Stage, sql: Scene["sql"]): Promise<Standby> => {
  const url = new URL(variables["DATABASE_URL"] ?? "")
  const primary = join(dataDir, "postgres")
  const folder = join(dataDir, "standby")
  const account = await Effect.runPromise(PostgresInstall.account(primary))
  const { postgres: program } = await Effect.runPromise(PostgresInstall.programs(account))
  await copied(url, primary, folder)
  await rm(join(folder, "postmaster.pid"), { force: true })
  await writeFile(join(folder, "standby.signal"), "")
  const follows = `host=${url.hostname} port=${url.port} user=${url.username} password=${url.password} application_name=${STANDBY}`
  await appendFile(join(folder, "postgresql.auto.conf"), `\nprimary_conninfo = '${follows}'\n`)
  if (account !== undefined) await run("chown", ["-R", `${account.uid}:${account.gid}`, folder])
  const port = await Effect.runPromise(PostgresServer.port(0))
  const log = join(dataDir, "standby.log")

  const start = async () => {
    await Effect.runPromise(PostgresServer.launch({ program, folder, port, log, account, durability: "full" }))
    await eventually(
      () => sql("SELECT state FROM pg_stat_replication WHERE application_name = $1", [STANDBY]),
      ([row]) => row?.["state"] === "streaming"
    )
  }
  return {
    start,
    kill: async () => {
      process.kill(Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0]), "SIGKILL")
    },
    sql: async (text) => {
      const own = new URL(url)
      own.port = String(port)
      own.pathname = "/postgres"
      const client = new Client({ connectionString: own.href })
      await client.connect()
      try {
        await client.query(text)
      } finally {
        await client.end()
      }
    },
    close: () => Effect.runPromise(PostgresServer.stop(folder))
  }
}

/** The files of a running server, as a base backup takes them. */
const copied = async (url: URL, from: string, to: string): Promise<void> => {
  const client = new Client({ connectionString: url.href })
  await client.connect()
  try {
    await client.query("SELECT pg_backup_start('drill', true)")
    // Files that are gone before their turn comes are in the write-ahead log, and `cp` says that they are missing.
    await run("cp", ["-a", from, to]).catch(() => undefined)
    const { rows } = await client.query("SELECT labelfile FROM pg_backup_stop()")
    await writeFile(join(to, "backup_label"), String(rows[0]?.["labelfile"]))
  } finally {
    await client.end()
  }
}

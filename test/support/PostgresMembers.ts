import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { appendFile, mkdir, readdir, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { promisify } from "node:util"
import { Effect, Redacted } from "effect"
import { Client } from "pg"
import { EmbeddedPostgres } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import { PostgresInstall } from "../../src/persistence/postgres/PostgresInstall.ts"
import { type Durability, type Launch, PostgresServer } from "../../src/persistence/postgres/PostgresServer.ts"
import { wrongTime } from "./WrongTime.ts"

// Real servers of one database: a primary and what follows it, each of which may die, be promoted, and come back.

export interface Member {
  readonly name: string
  readonly port: number
  readonly folder: string
  /** One statement of the owner. */
  readonly sql: (text: string) => Promise<ReadonlyArray<Readonly<Record<string, unknown>>>>
  /** As it was left: a primary comes back as a primary. Until it answers. */
  readonly start: () => Promise<void>
  /** As a machine that loses its power. */
  readonly kill: () => void
  /** Throws away what it has, and follows that one from now on, until it does. */
  readonly follow: (primary: Member) => Promise<void>
  /** Commits here wait for that one from now on. */
  readonly awaitCommitsOf: (standby: Member) => Promise<void>
  /** Starts again, and from now on copies its write-ahead log there, each segment as soon as it is full or so old. */
  readonly archive: (to: string, seconds: number) => Promise<void>
  /** A base backup, taken while it works. */
  readonly backUp: (to: string) => Promise<void>
  /** Throws away what it has, and is what the backup and the archive make of it, to the archive's end; until it takes writes. */
  readonly restore: (backup: string, archive: string) => Promise<void>
}

export interface Members {
  /** Of these the first is the primary at the beginning, alone. */
  readonly all: ReadonlyArray<Member>
  /** Of the database on the named members, in this order. */
  readonly url: (members: ReadonlyArray<Pick<Member, "port">>, parameters?: string) => string
  readonly close: () => Promise<void>
}

const LOOKED_EVERY_MS = 20
const WITHIN_MS = 300_000
const run = promisify(execFile)

/** What a copy of a running server brings along by itself, or must not. */
const notCopied = new Set(["pg_wal", "pg_replslot", "postmaster.pid", "postmaster.opts", "standby.signal"])

/** What a member's machine is like, where it is not this one as it is. */
export interface MemberMachine {
  /** By so many seconds its clock is wrong. */
  readonly secondsOff?: number
  /** A host with a network of its own. */
  readonly host?: {
    /** How this machine runs a program there: a command and its arguments. */
    readonly command: (program: string, args: ReadonlyArray<string>) => readonly [string, ReadonlyArray<string>]
    /** Has what listens there on loopback reached at the same port of every other host. */
    readonly serve: (port: number) => Promise<void>
  }
}

export const openMembers = async (
  dataDir: string,
  names: readonly [string, ...ReadonlyArray<string>],
  durability: Durability,
  machines: Readonly<Record<string, MemberMachine>> = {}
) => {
  const made = await Effect.runPromise(EmbeddedPostgres.ensureRunning(join(dataDir, names[0]), durability))
  await Effect.runPromise(EmbeddedPostgres.stop(join(dataDir, names[0])))
  const password = Redacted.value(made.password)
  const account = await Effect.runPromise(PostgresInstall.account(made.folder))
  const { postgres } = await Effect.runPromise(PostgresInstall.programs(account))
  const url: Members["url"] = (members, parameters = "") =>
    `postgres://${made.username}:${password}@${members.map(({ port }) => `${made.host}:${port}`).join(",")}/${made.database}${parameters}`
  /** Once they are closed none starts any more, whatever is under way. */
  let isOver = false
  const launches = new Set<Promise<unknown>>()
  const launched = async (of: Omit<Launch, "durability">) => {
    if (isOver) throw new Error("the members are closed")
    const launch = Effect.runPromise(PostgresServer.launch({ ...of, durability }))
    launches.add(launch)
    await launch.finally(() => launches.delete(launch))
  }
  const member = async (name: string): Promise<Member> => {
    const folder = name === names[0] ? made.folder : join(dirname(made.folder), `postgres-${name}`)
    const port = name === names[0] ? made.port : await Effect.runPromise(PostgresServer.port(0))
    const sql: Member["sql"] = async (text) => {
      const client = new Client({ connectionString: url([{ port }]) })
      client.on("error", () => undefined)
      await client.connect()
      try {
        return (await client.query(text)).rows
      } finally {
        await client.end()
      }
    }
    const machine = machines[name]
    await machine?.host?.serve(port)
    const program =
      machine === undefined ? postgres : await programOf(join(dataDir, `postgres-of-${name}`), postgres, machine, account)
    const start = async () => {
      const log = join(dataDir, `${name}.log`)
      // Only this machine's administrator may enter another network; the program changes to the server's account there.
      await launched({ program, folder, port, log, account: machine?.host === undefined ? account : undefined })
      await until(() => sql("SELECT 1").then(isTrue, isFalse))
    }
    const ownedByServer = async (path: string) => {
      if (account !== undefined) await run("chown", ["-R", `${account.uid}:${account.gid}`, path])
    }
    const follow = async (primary: Member) => {
      await primary.backUp(folder)
      const from = `host=${made.host} port=${primary.port} user=${made.username} password=${password} application_name=${name}`
      await writeFile(join(folder, "standby.signal"), "")
      // Alone after its promotion, it commits alone.
      await writeFile(
        join(folder, "postgresql.auto.conf"),
        `${kept}primary_conninfo = '${from}'\nsynchronous_standby_names = ''\n`
      )
      await ownedByServer(folder)
      await start()
      await until(() => isFollower(primary, name, "streaming"))
    }
    const backUp = async (to: string) => {
      await rm(to, { recursive: true, force: true })
      await mkdir(join(to, "pg_wal"), { recursive: true, mode: 0o700 })
      await mkdir(join(to, "pg_replslot"), { mode: 0o700 })
      const client = new Client({ connectionString: url([{ port }]) })
      await client.connect()
      try {
        await client.query("SELECT pg_backup_start('member', true)")
        const entries = (await readdir(folder)).filter((entry) => !notCopied.has(entry))
        await run("cp", ["-a", ...entries.map((entry) => join(folder, entry)), to], english).catch(mustBeGone)
        const { rows } = await client.query("SELECT labelfile FROM pg_backup_stop(false)")
        await writeFile(join(to, "backup_label"), String(rows[0]?.["labelfile"]))
      } finally {
        await client.end()
      }
    }
    const archive = async (to: string, seconds: number) => {
      await mkdir(to, { recursive: true, mode: 0o700 })
      await ownedByServer(to)
      await sql("ALTER SYSTEM SET archive_mode = on")
      await sql(`ALTER SYSTEM SET archive_command = 'cp %p "${to}/%f.part" && mv "${to}/%f.part" "${to}/%f"'`)
      await sql(`ALTER SYSTEM SET archive_timeout = ${seconds}`)
      await Effect.runPromise(PostgresServer.stop(folder))
      await start()
    }
    const restore = async (backup: string, archived: string) => {
      await rm(folder, { recursive: true, force: true })
      await run("cp", ["-a", backup, folder])
      await writeFile(join(folder, "recovery.signal"), "")
      await writeFile(join(folder, "postgresql.auto.conf"), `${kept}restore_command = 'cp "${archived}/%f" "%p"'\n`)
      await ownedByServer(folder)
      await start()
      await until(async () => (await sql("SELECT WHERE NOT pg_is_in_recovery()")).length > 0)
    }
    const awaitCommitsOf = async (standby: Member) => {
      await sql(`ALTER SYSTEM SET synchronous_standby_names = '${standby.name}'`)
      await sql("SELECT pg_reload_conf()")
      await until(async () => {
        const rows = await sql(
          `SELECT FROM pg_stat_replication WHERE application_name = '${standby.name}' AND sync_state = 'sync'`
        )
        return rows.length > 0
      })
    }
    return { name, port, folder, sql, start, kill: () => killServer(folder), follow, awaitCommitsOf, archive, backUp, restore }
  }
  await appendFile(join(made.folder, "postgresql.auto.conf"), kept)
  const all = await Promise.all(names.map(member))
  await all[0]?.start()
  // Also where nothing need survive: a commit that waits for nobody is lost in a failover.
  await all[0]?.sql(`ALTER DATABASE ${made.database} SET synchronous_commit = on`)
  const close = async () => {
    isOver = true
    await Promise.allSettled(launches)
    for (const { folder } of all) killServer(folder)
    for (const { folder } of all) await rm(folder, { recursive: true, force: true })
  }
  return { all, url, close } satisfies Members
}

const ofFilesThatChange = /(No such file or directory|as it was replaced while being copied)$/
const english = { env: { ...process.env, LC_ALL: "C" } }

/** Files that are gone or exchanged when their turn comes are in the write-ahead log, or are caches. `cp` must complain of nothing else. */
const mustBeGone = (cause: unknown): void => {
  const said = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim().split("\n") : []
  if (said.length === 0 || said.some((line) => !ofFilesThatChange.test(line))) throw cause
}

/** A program that starts that one on such a machine. */
const programOf = async (
  file: string,
  program: string,
  { host, secondsOff }: MemberMachine,
  account: Launch["account"]
): Promise<string> => {
  const variables = Object.entries(secondsOff === undefined ? {} : wrongTime(secondsOff))
  const clock = variables.length === 0 ? "" : `export ${variables.map(([name, value]) => `${name}='${value}'`).join(" ")}\n`
  const asAccount = account === undefined ? [] : ["setpriv", `--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"]
  const [command, args] = host === undefined ? [program, []] : host.command("env", [...asAccount, program])
  await writeFile(file, `#!/bin/sh\n${clock}exec ${[command, ...args].map((word) => `'${word}'`).join(" ")} "$@"\n`, {
    mode: 0o755
  })
  return file
}

/** Who begins to follow needs what was written since its copy began; a standby that is gone is seen at once. */
const kept = "wal_keep_size = '512MB'\nwal_retrieve_retry_interval = '200ms'\n"

const isFollower = async (primary: Member, name: string, state: string): Promise<boolean> =>
  (await primary.sql(`SELECT FROM pg_stat_replication WHERE application_name = '${name}' AND state = '${state}'`)).length > 0

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  const limit = performance.now() + WITHIN_MS
  while (!(await holds())) {
    if (performance.now() > limit) throw new Error("a member does not come so far within a minute")
    await pause(LOOKED_EVERY_MS)
  }
}

const isTrue = () => true
const isFalse = () => false

/** The server and every process of it. */
const killServer = (folder: string): void => {
  let pid: number
  try {
    pid = Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0])
    if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(folder)) return
  } catch {
    return
  }
  for (const one of [pid, ...childrenOf(pid)])
    try {
      process.kill(one, "SIGKILL")
    } catch {
      // It has ended by itself.
    }
}

const childrenOf = (parent: number): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/stat`, "utf8").split(") ").at(-1)?.split(" ")[1] === String(parent)
      } catch {
        return false
      }
    })
    .map(Number)

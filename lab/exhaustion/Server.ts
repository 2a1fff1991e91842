import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { promisify } from "node:util"
import { Effect, Option, Redacted } from "effect"
import { Client } from "pg"
import { EmbeddedPostgres } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import { PostgresInstall } from "../../src/persistence/postgres/PostgresInstall.ts"
import { PostgresServer } from "../../src/persistence/postgres/PostgresServer.ts"
import type { StageDatabase } from "../chaos/Stage.ts"
import type { Disk } from "./Disk.ts"

// PostgreSQL on a small disk, whose writes can fail. It is started again whenever it has ended, as a service manager does.

const LOOKED_EVERY_MS = 500
const ENDS_WITHIN_MS = 20_000
const STARTS_WITHIN_MS = 120_000
/** The log of what was written is as large as these; the last of two values counts. */
const SMALL = ["max_wal_size=96MB", "min_wal_size=32MB", "wal_keep_size=0"]

export type Failing = "writes" | "syncs"

export interface Server {
  readonly database: StageDatabase
  /** Its files. */
  readonly folder: () => string
  /** How often it was started after the first time. */
  readonly restarts: () => number
  /** Whether it runs, ready or not. */
  readonly isUp: () => Promise<boolean>
  /** Every write, or every sync, of a file fails from now on; none any more with null. */
  readonly fail: (what: Failing | null) => Promise<void>
  /** Ends it, as a crash does, and it stays down until `begin`. */
  readonly crash: () => Promise<void>
  readonly begin: () => void
  /** One statement of the owner. */
  readonly sql: (text: string) => Promise<ReadonlyArray<Readonly<Record<string, unknown>>>>
  /** Whether it takes connections within so long. */
  readonly answers: (withinMs: number) => Promise<boolean>
  /** What it says in its log, from so many characters on. */
  readonly said: (from?: number) => string
}

export const serverOn = (disk: () => Disk): Server => {
  let folder = ""
  let control = ""
  let log = ""
  let url = ""
  let restarts = 0
  let isHeldDown = false
  const find = () => Effect.runPromise(PostgresServer.find(folder))
  const isUp = async () => Option.isSome(await find())
  const database: StageDatabase = async (dataDir, life) => {
    const home = join(disk().folder, "database")
    const made = await Effect.runPromise(EmbeddedPostgres.ensureRunning(home))
    await Effect.runPromise(EmbeddedPostgres.stop(home))
    folder = made.folder
    log = join(dataDir, "postgres.log")
    control = join(dataDir, "write-errors")
    const account = await Effect.runPromise(PostgresInstall.account(folder))
    const { postgres } = await Effect.runPromise(PostgresInstall.programs(account))
    const program = await breakable(dataDir, postgres, control)
    const launch = () =>
      Effect.runPromise(PostgresServer.launch({ program, folder, port: made.port, log, account, durability: "full" }))
    const kill = async () => {
      const found = await find()
      if (Option.isSome(found)) process.kill(found.value.pid, "SIGKILL")
      for (const limit = performance.now() + ENDS_WITHIN_MS; (await isUp()) && performance.now() < limit; ) await pause(50)
    }
    await launch()
    const supervise = async () => {
      while (!life.isOver) {
        await pause(LOOKED_EVERY_MS)
        if (isHeldDown || life.isOver || (await isUp())) continue
        restarts++
        // On a full disk it may not even be started; the next time it may.
        await launch().catch(() => undefined)
      }
    }
    const supervised = supervise()
    life.ends.push(async () => {
      await supervised
      await kill()
    })
    url = Redacted.value(EmbeddedPostgres.url(made))
    if (!(await answers(url, STARTS_WITHIN_MS))) throw new Error("PostgreSQL does not begin")
    const pid = () => Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0])
    return {
      name: "postgres",
      url,
      pid,
      signal: (signal) => void process.kill(pid(), signal),
      kill,
      start: async () => undefined
    }
  }
  return {
    database,
    folder: () => folder,
    restarts: () => restarts,
    isUp,
    fail: (what) => (what === null ? rm(control, { force: true }) : writeFile(control, what, { mode: 0o644 })),
    crash: async () => {
      isHeldDown = true
      const found = await find()
      if (Option.isSome(found)) process.kill(found.value.pid, "SIGKILL")
      while (await isUp()) await pause(50)
    },
    begin: () => void (isHeldDown = false),
    sql: (text) => asked(url, text),
    answers: (withinMs) => answers(url, withinMs),
    said: (from = 0) => readFileSync(log, "utf8").slice(from)
  }
}

/** A program that starts that one, with writes that can be made to fail. */
const breakable = async (dataDir: string, postgres: string, control: string): Promise<string> => {
  const library = join(dataDir, "write-errors.so")
  const source = join(import.meta.dirname, "write-errors.c")
  await promisify(execFile)("gcc", ["-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"])
  const program = join(dataDir, "postgres-that-breaks")
  const settings = SMALL.map((setting) => `-c ${setting}`).join(" ")
  await writeFile(
    program,
    `#!/bin/sh\nexport LD_PRELOAD='${library}' WRITE_ERRORS='${control}'\nexec '${postgres}' "$@" ${settings}\n`,
    { mode: 0o755 }
  )
  return program
}

const asked = async (url: string, text: string): Promise<ReadonlyArray<Readonly<Record<string, unknown>>>> => {
  const client = new Client({ connectionString: url })
  client.on("error", () => undefined)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end().catch(() => undefined)
  }
}

const answers = async (url: string, withinMs: number): Promise<boolean> => {
  for (const limit = performance.now() + withinMs; ; await pause(LOOKED_EVERY_MS)) {
    const isThere = await asked(url, "SELECT 1").then(
      () => true,
      () => false
    )
    if (isThere || performance.now() > limit) return isThere
  }
}

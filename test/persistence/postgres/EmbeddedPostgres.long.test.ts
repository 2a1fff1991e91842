import { randomBytes } from "node:crypto"
import { mkdir, readFile, stat, writeFile } from "node:fs/promises"
import { createServer, type Server } from "node:net"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { describe, it } from "@effect/vitest"
import { Effect, Fiber, Option, Schedule } from "effect"
import { Reactivity } from "effect/reactivity"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import type { EmbeddedDatabase } from "../../../src/persistence/postgres/EmbeddedPostgres.ts"
import { EmbeddedPostgres } from "../../../src/persistence/postgres/EmbeddedPostgres.ts"
import { PostgresServer } from "../../../src/persistence/postgres/PostgresServer.ts"
import { databaseFolder } from "../../support/DatabaseFolder.ts"
import { removeDataDir } from "../../support/Postgres.ts"

describe("the embedded PostgreSQL", () => {
  it.live("is created on first use and adopted afterwards", () =>
    Effect.gen(function* () {
      const dataDir = yield* givenDataDir
      const first = yield* EmbeddedPostgres.ensureRunning(dataDir, "off")
      expect(first).toMatchObject({ host: "127.0.0.1", username: "gateway", database: "gateway", startedByUs: true })
      expect(first.version).toMatch(/^18\./)
      expect(yield* EmbeddedPostgres.ensureRunning(dataDir)).toEqual({ ...first, startedByUs: false })
      expect(yield* EmbeddedPostgres.running(dataDir)).toEqual(Option.some({ ...first, startedByUs: false }))
      const { mode } = yield* Effect.promise(() => stat(join(dataDir, "postgres.json")))
      expect((mode & 0o777).toString(8)).toBe("600")
      expect(
        yield* ask(first, "SELECT current_setting('server_encoding') AS encoding, current_setting('TimeZone') AS zone")
      ).toEqual([{ encoding: "UTF8", zone: "UTC" }])
    }).pipe(Effect.scoped)
  )

  it.live("is started once by concurrent callers", () =>
    Effect.gen(function* () {
      const dataDir = yield* givenDataDir
      const all = yield* Effect.all(
        Array.from({ length: 4 }, () => EmbeddedPostgres.ensureRunning(dataDir, "off")),
        { concurrency: 4 }
      )
      expect(all.filter((database) => database.startedByUs)).toHaveLength(1)
      expect(new Set(all.map((database) => database.port)).size).toBe(1)
    }).pipe(Effect.scoped)
  )

  it.live("keeps what was committed when it is killed and started again", () =>
    Effect.gen(function* () {
      const dataDir = yield* givenDataDir
      const first = yield* EmbeddedPostgres.ensureRunning(dataDir)
      yield* ask(first, "CREATE TABLE kept AS SELECT 7 AS amount")
      yield* killed(dataDir)
      expect(yield* EmbeddedPostgres.running(dataDir)).toEqual(Option.none())
      const second = yield* EmbeddedPostgres.ensureRunning(dataDir)
      expect(second.startedByUs).toBe(true)
      expect(yield* ask(second, "SELECT amount FROM kept")).toEqual([{ amount: 7 }])
    }).pipe(Effect.scoped)
  )

  it.effect("keeps its port if what holds it lets go within two seconds, as a backend of a killed server does", () =>
    Effect.gen(function* () {
      const [holder, port] = yield* givenListener
      const starting = yield* Effect.forkScoped(PostgresServer.port(port))
      yield* passUntil(starting, (passed) => passed === 5 && holder.close())
      expect(yield* Fiber.join(starting)).toBe(port)
    }).pipe(Effect.scoped)
  )

  it.effect("takes another port if another program keeps its own", () =>
    Effect.gen(function* () {
      const [, port] = yield* givenListener
      const starting = yield* Effect.forkScoped(PostgresServer.port(port))
      yield* passUntil(starting, () => {})
      expect(yield* Fiber.join(starting)).not.toBe(port)
    }).pipe(Effect.scoped)
  )

  it.live("does not take another program with a reused process id for its server", () =>
    Effect.gen(function* () {
      const dataDir = yield* givenDataDir
      yield* EmbeddedPostgres.ensureRunning(dataDir, "off")
      yield* killed(dataDir)
      const file = join(dataDir, "postgres", "postmaster.pid")
      yield* Effect.promise(async () => writeFile(file, (await readFile(file, "utf8")).replace(/^\d+/, String(process.pid))))
      expect(yield* EmbeddedPostgres.running(dataDir)).toEqual(Option.none())
      expect((yield* EmbeddedPostgres.ensureRunning(dataDir, "off")).startedByUs).toBe(true)
    }).pipe(Effect.scoped)
  )

  it.live("takes over the lock of a process that has ended", () =>
    Effect.gen(function* () {
      const dataDir = yield* givenDataDir
      yield* Effect.promise(() => mkdir(dataDir, { mode: 0o711 }))
      yield* Effect.promise(() => writeFile(join(dataDir, "postgres.lock"), `${process.pid}\nan earlier process of this number`))
      expect((yield* EmbeddedPostgres.ensureRunning(dataDir, "off")).startedByUs).toBe(true)
    }).pipe(Effect.scoped)
  )

  it.live("is started again by its watchdog", () =>
    Effect.gen(function* () {
      const dataDir = yield* givenDataDir
      const { port } = yield* EmbeddedPostgres.ensureRunning(dataDir, "off")
      const watchdog = yield* Effect.forkScoped(EmbeddedPostgres.keepRunning(dataDir))
      yield* killed(dataDir)
      const again = yield* EmbeddedPostgres.running(dataDir).pipe(
        Effect.repeat({ until: Option.isSome, schedule: Schedule.spaced("100 millis") }),
        Effect.timeout("50 seconds")
      )
      expect(Option.map(again, (database) => database.port)).toEqual(Option.some(port))
      yield* Fiber.interrupt(watchdog)
    }).pipe(Effect.scoped)
  )

  it.live("stays stopped until somebody starts it", () =>
    Effect.gen(function* () {
      const dataDir = yield* givenDataDir
      expect(yield* EmbeddedPostgres.running(dataDir)).toEqual(Option.none())
      yield* EmbeddedPostgres.ensureRunning(dataDir, "off")
      yield* EmbeddedPostgres.stop(dataDir)
      expect(yield* EmbeddedPostgres.running(dataDir)).toEqual(Option.none())
      yield* EmbeddedPostgres.stop(dataDir)
    }).pipe(Effect.scoped)
  )

  it.live("refuses a cluster of another major version in one line", () =>
    Effect.gen(function* () {
      const dataDir = yield* givenDataDir
      yield* EmbeddedPostgres.ensureRunning(dataDir, "off")
      yield* EmbeddedPostgres.stop(dataDir)
      yield* Effect.promise(() => writeFile(join(dataDir, "postgres", "PG_VERSION"), "17\n"))
      const { message } = yield* Effect.flip(EmbeddedPostgres.ensureRunning(dataDir, "off"))
      expect(message).toBe(
        `the gateway does not use ${join(dataDir, "postgres")}: it holds a PostgreSQL 17 cluster, ` +
          "and this gateway brings PostgreSQL 18. Choose another DATA_DIR"
      )
    }).pipe(Effect.scoped)
  )

  it.live("refuses folders that it did not create", () =>
    Effect.gen(function* () {
      const dataDir = yield* givenDataDir
      const cluster = join(dataDir, "postgres")
      yield* Effect.promise(() => mkdir(cluster, { recursive: true }))
      yield* Effect.promise(() => writeFile(join(cluster, "letters.txt"), "mine"))
      const files = yield* Effect.flip(EmbeddedPostgres.ensureRunning(dataDir))
      expect(files.message).toContain(`${cluster}: it holds files that it did not make`)
      yield* Effect.promise(() => writeFile(join(dataDir, "PG_VERSION"), "15\n"))
      const foreign = yield* Effect.flip(EmbeddedPostgres.ensureRunning(dataDir))
      expect(foreign.message).toContain(
        `${dataDir}: it holds a PostgreSQL 15 cluster that it did not make; its own is PostgreSQL 18`
      )
    }).pipe(Effect.scoped)
  )
})

/** A folder that does not exist yet, with a space in its name. */
const givenDataDir = Effect.acquireRelease(
  Effect.sync(() => join(databaseFolder(), `payment-gateway-test-${process.pid}-${randomBytes(6).toString("hex")} of a test`)),
  (dataDir) => Effect.promise(() => removeDataDir(dataDir))
)

const givenListener = Effect.acquireRelease(
  Effect.callback<readonly [server: Server, port: number]>((resume) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed([server, typeof address === "object" && address !== null ? address.port : 0]))
    })
  }),
  ([server]) => Effect.sync(() => server.close())
)

/** A tenth of a second passes after each look at the port; `then` is told how many have. */
const passUntil = Effect.fnUntraced(function* <A, E>(fiber: Fiber.Fiber<A, E>, then: (passed: number) => unknown) {
  for (let passed = 0; fiber.pollUnsafe() === undefined; passed++) {
    then(passed)
    yield* TestClock.adjust("100 millis")
    yield* Effect.promise(() => new Promise(setImmediate))
  }
})

const ask = (database: EmbeddedDatabase, statement: string) =>
  PgClient.makeClient(database).pipe(
    Effect.flatMap((sql) => sql.unsafe(statement)),
    Effect.scoped,
    Effect.provide(Reactivity.layer)
  )

/** `kill -9` of the server, as the kernel does when memory runs out; answers when the process has gone. */
const killed = Effect.fnUntraced(function* (dataDir: string) {
  const pid = Number((yield* Effect.promise(() => readFile(join(dataDir, "postgres", "postmaster.pid"), "utf8"))).split("\n")[0])
  process.kill(pid, "SIGKILL")
  yield* Effect.sync(() => isGone(pid)).pipe(Effect.repeat({ until: (gone) => gone, schedule: Schedule.spaced("10 millis") }))
})

const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

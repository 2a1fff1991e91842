import { type ChildProcess, spawn } from "node:child_process"
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, dirname, join, resolve } from "node:path"
import { Effect, Option, Schema } from "effect"
import { Environment, embeddedPostgres } from "../App.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { until } from "./DataFolder.ts"
import { SimulatorProcess } from "./Simulator.ts"

const MAIN = resolve(import.meta.dirname, "..", "gateway.js")
const UP_WITHIN_MS = 60_000
const DOWN_WITHIN_MS = 15_000
/** The prefix of our folders outside the data folder, where PostgreSQL could not reach the data folder. */
const OWN_FOLDER = "payment-gateway-"

const Started = Schema.fromJsonString(Schema.Struct({ url: Schema.String, simulator_url: Schema.String }))
const Cluster = Schema.fromJsonString(Schema.Struct({ cluster: Schema.String }))

/** The processes of `gateway start` on a temporary data folder, and operators' commands on it. */
export const openStack = Effect.fn("openStack")(function* () {
  const dataDir = yield* Effect.acquireRelease(temporaryFolder, removeAll)
  const variables = { ...(yield* inherited), DATA_DIR: dataDir, PORT: "0", MANAGEMENT_PORT: "0", SIMULATOR_PORT: "0" }
  const env = { ...variables, WEBHOOK_ALLOW_LOOPBACK: "true", LOG_LEVEL: "warn" }
  const gateway = yield* Effect.acquireRelease(
    Effect.sync(() => launch(["start", "--json"], env)),
    (running) => stop(running)
  )
  yield* until(
    Effect.sync(() => gateway.output().includes("\n") || hasEnded(gateway.child)),
    UP_WITHIN_MS
  )
  const started = Schema.decodeUnknownOption(Started)(gateway.output())
  if (Option.isNone(started)) return yield* new CommandRefusal(`the gateway does not start: ${gateway.errors().trim()}`)

  /** Runs one operator's command as a separate process, and returns its JSON result and its exit code. */
  const command = Effect.fn("Stack.command")(function* (...args: ReadonlyArray<string>) {
    const running = launch([...args, "--json"], env)
    yield* Effect.promise(() => whenEnded(running.child))
    if (running.child.exitCode !== 0) {
      return yield* new CommandRefusal(`gateway ${args.join(" ")} exits ${running.child.exitCode}: ${running.errors().trim()}`)
    }
    return running.output()
  })

  return {
    url: started.value.url,
    simulatorUrl: started.value.simulator_url,
    command,
    stopGateway: Effect.andThen(stop(gateway), () => Effect.sync(() => gateway.child.exitCode))
  }
})

interface Running {
  readonly child: ChildProcess
  readonly output: () => string
  readonly errors: () => string
}

const launch = (args: ReadonlyArray<string>, env: NodeJS.ProcessEnv): Running => {
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "pipe", "pipe"] })
  const output: Array<Buffer> = []
  const errors: Array<Buffer> = []
  child.stdout.on("data", (chunk: Buffer) => output.push(chunk))
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk))
  const text = (chunks: ReadonlyArray<Buffer>) => () => Buffer.concat(chunks).toString("utf8")
  return { child, output: text(output), errors: text(errors) }
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/** The process has ended, and all its output has arrived. */
const whenEnded = (child: ChildProcess): Promise<void> =>
  new Promise((done) => {
    if (hasEnded(child) && child.stdout?.readableEnded === true) done()
    else child.once("close", () => done())
  })

const stop = ({ child }: Running): Effect.Effect<void> =>
  Effect.gen(function* () {
    const gone = Effect.sync(() => hasEnded(child))
    child.kill("SIGTERM")
    if (yield* until(gone, DOWN_WITHIN_MS)) return
    child.kill("SIGKILL")
    yield* until(gone, DOWN_WITHIN_MS)
  })

/** The variables that programs need to run at all, without the settings of another gateway of the user. */
const inherited = Effect.map(Environment, (variables) =>
  Object.fromEntries(
    ["PATH", "HOME", "USER", "LANG", "TMPDIR", "SystemRoot"].flatMap((name) => {
      const value = variables[name]
      return value === undefined ? [] : [[name, value]]
    })
  )
)

const temporaryFolder = Effect.promise(async () => {
  const folder = await mkdtemp(join(tmpdir(), `${OWN_FOLDER}demo-`))
  // PostgreSQL's account has to reach its own folder inside.
  await chmod(folder, 0o711)
  return folder
})

/** Includes whatever a killed gateway left running, and what PostgreSQL had to put elsewhere. */
const removeAll = (dataDir: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* SimulatorProcess.stop(dataDir)
    yield* embeddedPostgres
      .stop(dataDir)
      .pipe(
        Effect.catch(({ message }) =>
          Effect.annotateLogs(Effect.logWarning("the embedded PostgreSQL could not be stopped"), { note: message })
        )
      )
    yield* Effect.promise(async () => {
      const marker = await readFile(join(dataDir, "postgres.json"), "utf8").catch(() => undefined)
      const cluster = Schema.decodeUnknownOption(Cluster)(marker)
      const home = Option.map(cluster, (found) => dirname(resolve(dataDir, found.cluster)))
      if (Option.isSome(home) && basename(home.value).startsWith(OWN_FOLDER))
        await rm(home.value, { recursive: true, force: true })
      await rm(dataDir, { recursive: true, force: true })
    })
  })

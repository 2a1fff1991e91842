import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { setImmediate } from "node:timers/promises"
import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as App from "../../src/App.ts"
import { SimulatorProcess, simulatorFile } from "../../src/commands/Simulator.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const MAIN = join(ROOT, "src/gateway.js")
const TURNS = 50
const LONGEST_TURNS = 10_000_000

/** Lets everything else go on until it is there, whatever the clock of the test says. */
const appeared = (file: string) =>
  Effect.promise(async () => {
    for (let turns = 0; !existsSync(file); turns++) {
      if (turns > LONGEST_TURNS) throw new Error(`${file} never came`)
      await setImmediate()
    }
    for (let turns = 0; turns < TURNS; turns++) await setImmediate()
  })

const givenFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "payment-gateway-simulator-"))),
  (folder) =>
    SimulatorProcess.stop(folder).pipe(
      TestClock.withLive,
      Effect.andThen(Effect.promise(() => rm(folder, { recursive: true, force: true })))
    )
)

const ensureRunning = (variables: Readonly<Record<string, string>>) =>
  Effect.flatMap(App.settings, SimulatorProcess.ensureRunning).pipe(Effect.provideService(App.Environment, variables))

it.effect("a process of the program opens no debugger at SIGUSR1, whatever Node was told", () =>
  Effect.gen(function* () {
    const folder = yield* givenFolder
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, [MAIN, "simulator"], { env: { DATA_DIR: folder, SIMULATOR_PORT: "0" } })),
      (started) => Effect.sync(() => started.kill("SIGKILL"))
    )
    let said = ""
    child.stderr.on("data", (chunk) => {
      said += chunk
    })
    const ended = new Promise((done) => child.once("close", done))
    yield* Effect.promise(() => new Promise((done) => child.stdout.once("data", done)))
    child.kill("SIGUSR1")
    child.kill("SIGTERM")
    yield* Effect.promise(() => ended)
    expect(said).not.toContain("Debugger listening")
    expect(child.signalCode).not.toBe("SIGUSR1")
  })
)

it.effect("a signal that npm alone gets ends the program that it runs", () =>
  Effect.gen(function* () {
    const folder = yield* givenFolder
    const env = { ...process.env, DATA_DIR: folder, SIMULATOR_PORT: "0" }
    const npm = yield* Effect.acquireRelease(
      Effect.sync(() => spawn("npm", ["run", "-s", "gateway", "--", "simulator", "--json"], { cwd: ROOT, env, detached: true })),
      ({ pid }) => Effect.ignore(Effect.try(() => process.kill(-(pid ?? Number.NaN), "SIGKILL")))
    )
    const line = yield* Effect.promise(() => new Promise((said) => npm.stdout.once("data", said)))
    const ended = new Promise((done) => npm.once("exit", done))
    npm.kill("SIGTERM")
    yield* Effect.promise(() => ended)
    const { control_url } = JSON.parse(String(line))
    expect(yield* Effect.promise(() => fetch(control_url).catch(() => "nothing listens there"))).toBe("nothing listens there")
  })
)

it.effect("the simulator is waited for where a busy machine needs half a minute to start it", () =>
  Effect.gen(function* () {
    const folder = yield* givenFolder
    const begun = yield* Effect.forkChild(ensureRunning({ DATA_DIR: folder, SIMULATOR_PORT: "0" }))
    yield* appeared(join(folder, "simulator.log"))
    yield* TestClock.adjust("30 seconds")
    yield* appeared(simulatorFile(folder))
    yield* TestClock.adjust("1 second")
    const { baseUrls } = yield* Fiber.join(begun)
    expect(Object.keys(baseUrls).toSorted()).toEqual([...App.providerNames].toSorted())
  })
)

it.effect("a simulator that never answers is given up after a minute, is ended, and the refusal says where its log is", () =>
  Effect.gen(function* () {
    const folder = yield* givenFolder
    const begun = yield* Effect.forkChild(ensureRunning({ DATA_DIR: folder, SIMULATOR_PORT: "0" }))
    // Over as soon as it is waited for: no program is loaded so quickly.
    while (begun.pollUnsafe() === undefined)
      yield* Effect.andThen(
        TestClock.adjust("2 minutes"),
        Effect.promise(() => setImmediate())
      )
    const refusal = yield* Effect.flip(Fiber.join(begun))
    const log = join(folder, "simulator.log")
    expect(refusal.message).toBe(`the simulator did not answer within 60 seconds; its log is ${log}`)
    expect(existsSync(simulatorFile(folder))).toBe(false)
  })
)

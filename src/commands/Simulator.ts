import { spawn } from "node:child_process"
import { open } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Effect, Option, Schedule, Schema } from "effect"
import { Command } from "effect/cli"
import * as App from "../App.ts"
import { help } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { DataFolder, type ProcessRecord } from "./DataFolder.ts"
import { printResult } from "./Output.ts"
import { untilStopped } from "./ServedAddresses.ts"

export const simulatorFile = (dataDir: string): string => join(dataDir, "simulator.json")

export const simulator = Command.make(
  "simulator",
  {},
  Effect.fn(
    function* () {
      const settings = yield* App.settings
      yield* DataFolder.make(settings.dataDir)
      const { baseUrls, controlUrl } = yield* openSimulator(settings)
      yield* DataFolder.writeProcess(simulatorFile(settings.dataDir), controlUrl)
      yield* printResult({ control_url: controlUrl, base_urls: baseUrls })
      return yield* untilStopped
    },
    Effect.scoped,
    Effect.provide(App.logs)
  )
).pipe(
  help(
    "Run the provider simulator alone until SIGTERM or SIGINT. It needs no setting; SIMULATOR_PORT says where its control port is",
    ["gateway simulator --json", "Print the control address and the address of each simulated provider"]
  )
)

const LOOPBACK = "127.0.0.1"

/** Only a process that runs the simulator imports it: no gateway loads any of its modules. */
const openSimulator = Effect.fnUntraced(
  function* (settings: App.Settings) {
    const { simulatedProviders } = yield* Effect.promise(() => import("../simulator/Registry.ts"))
    const { simulatorServer } = yield* Effect.promise(() => import("../simulator/SimulatorServer.ts"))
    return yield* simulatorServer({
      host: LOOPBACK,
      controlPort: settings.simulatorPort,
      dataDir: settings.dataDir,
      delayMs: settings.simulatorDelayMs,
      providers: simulatedProviders(settings)
    })
  },
  Effect.catchDefect((defect) => new CommandRefusal(defect instanceof Error ? defect.message : String(defect)))
)

/** The simulator's control address, and each provider's own address by its name. */
export interface SimulatorAddress {
  readonly controlUrl: string
  readonly baseUrls: Readonly<Record<string, string>>
}

const MAIN = resolve(import.meta.dirname, "..", "gateway.js")
/** A busy machine needs most of it. */
const READY_WITHIN = "60 seconds"
const ASKED_EVERY = "50 millis"
const ANSWERS_WITHIN = "2 seconds"
const STOP_WITHIN_MS = 5_000
const WATCH_EVERY = "1 second"

const Ready = Schema.Struct({
  ok: Schema.Literal(true),
  providers: Schema.Record(Schema.String, Schema.Struct({ base_url: Schema.String }))
})
const decodeReady = Schema.decodeUnknownEffect(Ready)

/** The simulator of a data folder, as a separate process that outlives this one. */
export const SimulatorProcess = {
  /** Keeps the running one, if it answers at the address that the settings require; otherwise starts one in its place. */
  ensureRunning: Effect.fn("SimulatorProcess.ensureRunning")(function* (settings: App.Settings) {
    const file = simulatorFile(settings.dataDir)
    const living = yield* DataFolder.findProcess(file)
    if (Option.isSome(living)) {
      const place = isWanted(settings, living.value) ? yield* placeOf(living.value) : Option.none()
      // One of an older program may lack a provider that this one knows.
      if (Option.isSome(place) && hasEveryProvider(place.value)) return place.value
      yield* DataFolder.endProcess(living.value, STOP_WITHIN_MS)
    }
    yield* DataFolder.remove(file)
    return yield* launch(settings, file)
  }),

  /** The settings with the accounts of the running simulator; unchanged where none runs. */
  withRunningSimulator: Effect.fn("SimulatorProcess.withRunningSimulator")(function* (settings: App.ReadySettings) {
    const place = yield* placeIn(simulatorFile(settings.dataDir))
    if (Option.isNone(place)) return settings
    const { baseUrls } = place.value
    const { withSimulators } = yield* Effect.promise(() => import("../simulator/Registry.ts"))
    return withSimulators(settings, (provider) => baseUrls[provider] ?? "")
  }),

  /** Never ends: restarts the simulator whenever it has gone. */
  keepRunning: Effect.fn("SimulatorProcess.keepRunning")(function* (settings: App.Settings): Effect.fn.Return<never> {
    return yield* Effect.forever(Effect.delay(revive(settings), WATCH_EVERY))
  }),

  /** Does nothing when none runs. */
  stop: Effect.fn("SimulatorProcess.stop")(function* (dataDir: string) {
    const file = simulatorFile(dataDir)
    const living = yield* DataFolder.findProcess(file)
    if (Option.isSome(living)) yield* DataFolder.endProcess(living.value, STOP_WITHIN_MS)
    yield* DataFolder.remove(file)
  })
}

const revive = (settings: App.Settings): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (Option.isSome(yield* DataFolder.findProcess(simulatorFile(settings.dataDir)))) return
    yield* Effect.logWarning("the simulator has gone; starting it again")
    yield* SimulatorProcess.ensureRunning(settings)
  }).pipe(
    Effect.catchTag("CommandRefusal", ({ message }) =>
      Effect.annotateLogs(Effect.logError("the simulator could not be started again"), { note: message })
    )
  )

const launch = Effect.fnUntraced(function* (settings: App.Settings, file: string) {
  const log = join(settings.dataDir, "simulator.log")
  const variables = yield* App.Environment
  const child = yield* Effect.tryPromise({
    try: () => spawnDetached(variables, log),
    catch: (cause) => new CommandRefusal(`cannot start the simulator: ${String(cause)}`)
  })
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const place = yield* Effect.repeat(placeIn(file), {
    until: (found) => Option.isSome(found) || hasEnded(),
    schedule: Schedule.spaced(ASKED_EVERY)
  }).pipe(Effect.timeoutOption(READY_WITHIN), Effect.map(Option.flatten))
  if (Option.isSome(place)) return place.value
  if (hasEnded()) return yield* new CommandRefusal(`the simulator did not start: ${yield* lastWords(log)}`)
  yield* Effect.sync(() => child.kill("SIGKILL"))
  return yield* new CommandRefusal(`the simulator did not answer within ${READY_WITHIN}; its log is ${log}`)
})

const spawnDetached = async (variables: Readonly<Record<string, string | undefined>>, log: string) => {
  const output = await open(log, "w", 0o600)
  try {
    const child = spawn(process.execPath, [MAIN, "simulator"], {
      detached: true,
      env: { ...variables },
      stdio: ["ignore", output.fd, output.fd]
    })
    await new Promise<void>((started, failed) => child.once("spawn", started).once("error", failed))
    child.unref()
    return child
  } finally {
    await output.close()
  }
}

const hasEveryProvider = ({ baseUrls }: SimulatorAddress): boolean =>
  App.providerNames.every((name) => Object.hasOwn(baseUrls, name))

/** Settings that name a port require that one. */
const isWanted = ({ simulatorPort }: App.Settings, { url }: ProcessRecord): boolean =>
  simulatorPort === 0 || new URL(url).port === String(simulatorPort)

/** The addresses of the simulator that a data folder records; none when there is none, or it does not answer. */
const placeIn = Effect.fnUntraced(function* (file: string) {
  const living = yield* DataFolder.findProcess(file)
  return Option.isSome(living) ? yield* placeOf(living.value) : Option.none()
})

/** None when it does not answer as a simulator does. */
const placeOf = ({ url }: ProcessRecord): Effect.Effect<Option.Option<SimulatorAddress>> =>
  Effect.tryPromise((signal) => fetch(`${url}/__simulator/ready`, { signal }).then((answer) => answer.json())).pipe(
    Effect.flatMap(decodeReady),
    Effect.timeout(ANSWERS_WITHIN),
    Effect.map(({ providers }) => ({
      controlUrl: url,
      baseUrls: Object.fromEntries(Object.entries(providers).map(([name, { base_url }]) => [name, base_url]))
    })),
    Effect.option
  )

const lastWords = (log: string): Effect.Effect<string> =>
  Effect.map(
    DataFolder.read(log),
    (text) =>
      Option.getOrElse(text, () => "")
        .trim()
        .split("\n")
        .at(-1) ?? "it said nothing"
  )

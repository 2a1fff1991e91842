import { join } from "node:path"
import { Effect } from "effect"
import { Command } from "effect/cli"
import * as App from "../App.ts"
import { answer } from "./Answer.ts"
import { Memory } from "./Memory.ts"
import { Refusal } from "./Refusal.ts"
import { untilStopped } from "./Serve.ts"

/** Where a data folder remembers its simulator. */
export const simulatorFile = (dataDir: string): string => join(dataDir, "simulator.json")

export const simulator = Command.make(
  "simulator",
  {},
  Effect.fn(
    function* () {
      const settings = yield* App.settings
      yield* Memory.folder(settings.dataDir)
      const { baseUrls, controlUrl } = yield* openSimulator(settings)
      yield* Memory.rememberSelf(simulatorFile(settings.dataDir), controlUrl)
      yield* answer({ control_url: controlUrl, base_urls: baseUrls })
      return yield* untilStopped
    },
    Effect.scoped,
    Effect.provide(App.logs)
  )
).pipe(Command.withDescription("Run the provider simulator alone until SIGTERM or SIGINT"))

const LOOPBACK = "127.0.0.1"

/** The simulator is read only by who runs it: no gateway has any of its modules in memory. */
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
  Effect.catchDefect((defect) => new Refusal({ message: defect instanceof Error ? defect.message : String(defect) }))
)

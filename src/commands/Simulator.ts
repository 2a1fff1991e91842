import { join } from "node:path"
import { Effect } from "effect"
import { Command } from "effect/cli"
import * as App from "../App.ts"
import { answer } from "./Answer.ts"
import { Memory } from "./Memory.ts"
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
      const { baseUrls, controlUrl } = yield* App.simulator(settings)
      yield* Memory.rememberSelf(simulatorFile(settings.dataDir), controlUrl)
      yield* answer({ control_url: controlUrl, base_urls: baseUrls })
      return yield* untilStopped
    },
    Effect.scoped,
    Effect.provide(App.logs)
  )
).pipe(Command.withDescription("Run the provider simulator alone until SIGTERM or SIGINT"))

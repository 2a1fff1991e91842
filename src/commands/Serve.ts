import { Context, Effect, Layer, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as App from "../App.ts"
import * as Workers from "../Workers.ts"
import { Installation } from "./Installation.ts"
import { placesOf, printPlaces, rememberManagement, untilStopped } from "./ServedPlaces.ts"
import { serveAsWorker, serveWithWorkers } from "./ServeWorkers.ts"

const MOST_WORKERS = 64

const WorkerCount = Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 1, maximum: MOST_WORKERS })))

export const serve = Command.make(
  "serve",
  {
    workers: Flag.Int("workers").pipe(
      Flag.withDefault(1),
      Flag.withSchema(WorkerCount),
      Flag.withDescription(
        `how many processes of this machine take requests, each with a core of its own (1 to ${MOST_WORKERS}; 1 if left out)`
      )
    )
  },
  Effect.fn(function* ({ workers }) {
    const slot = yield* Workers.workerSlot
    if (slot !== null) return yield* Effect.provide(serveAsWorker(slot), App.logsOf(Workers.processName(slot)))
    if (workers > 1) return yield* Effect.provide(serveWithWorkers(workers), App.logsOf("primary"))
    return yield* Effect.provide(serveAlone, App.logs)
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Run the gateway until SIGTERM or SIGINT, then let requests under way end. In production it needs DATABASE_URL, MASTER_KEY and the account of a provider"
  ),
  Command.withExamples([
    { command: "gateway serve", description: "Serve tenants on HOST and PORT" },
    { command: "gateway serve --workers 4", description: "Serve them with four processes, which take turns" }
  ])
)

const serveAlone = Effect.gen(function* () {
  yield* printPlaces(yield* openGateway(yield* Installation.forServer))
  return yield* untilStopped
})

/**
 * Opens the gateway for as long as the scope lives. `url` is where it can be reached from this machine; where its management port can be is
 * written into the data folder meanwhile.
 */
export const openGateway = Effect.fnUntraced(function* (settings: App.ReadySettings) {
  const context = yield* Layer.build(App.gateway(settings, yield* Installation.build))
  yield* rememberManagement(settings.dataDir, Context.get(context, App.ManagementAddress))
  return { context, ...placesOf(settings, context) }
})

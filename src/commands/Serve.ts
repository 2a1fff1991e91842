import { Context, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import * as App from "../App.ts"
import { help } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { Installation } from "./Installation.ts"
import { addressesOf, printAddresses, rememberManagement, untilStopped } from "./ServedAddresses.ts"

const NO_DATABASE =
  "NODE_ENV is production, and DATABASE_URL is not set or empty: the gateway would serve from a new, empty database of its own"

export const serve = Command.make(
  "serve",
  {},
  Effect.fn(
    function* () {
      const { databaseUrl, isProduction } = yield* App.settings
      if (isProduction && databaseUrl === null) return yield* new CommandRefusal(NO_DATABASE)
      yield* printAddresses(yield* openGateway(yield* Installation.forServer))
      return yield* untilStopped
    },
    Effect.scoped,
    Effect.provide(App.logs)
  )
).pipe(
  help(
    "Run the gateway until SIGTERM or SIGINT, then let requests under way end. In production it needs DATABASE_URL, MASTER_KEY and the account of a provider",
    ["gateway serve", "Serve tenants on HOST and PORT"]
  )
)

/** Opens the gateway for the scope. `url`: its address from this machine. The data folder has its management port meanwhile. */
export const openGateway = Effect.fnUntraced(function* (settings: App.ReadySettings) {
  const context = yield* Layer.build(App.gateway(settings, yield* Installation.build))
  yield* rememberManagement(settings.dataDir, Context.get(context, App.ManagementAddress))
  return { context, ...addressesOf(settings, context) }
})

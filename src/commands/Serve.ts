import { Context, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { HttpServer } from "effect/http"
import * as App from "../App.ts"
import { answer } from "./Answer.ts"
import { Installation } from "./Installation.ts"

export const serve = Command.make(
  "serve",
  {},
  Effect.fn(
    function* () {
      const settings = yield* Installation.forLong
      const { url } = yield* openGateway(settings)
      yield* answer({ url }, [`The gateway listens on ${url}`])
      return yield* untilStopped
    },
    Effect.scoped,
    Effect.provide(App.logs)
  )
).pipe(Command.withDescription("Run the gateway until SIGTERM or SIGINT, then let requests under way end"))

/** Opens the gateway for as long as the scope lives. `url` is where it can be reached from this machine. */
export const openGateway = Effect.fnUntraced(function* (settings: App.ReadySettings) {
  const context = yield* Layer.build(App.gateway(settings, yield* Installation.build))
  const { address } = Context.get(context, HttpServer.HttpServer)
  const port = "port" in address ? address.port : settings.port
  return { context, url: `http://${reachable(settings.host)}:${port}` }
})

/** Never ends by itself: the signal that ends it is how it is meant to end. */
export const untilStopped: Effect.Effect<never> = Effect.suspend(() => {
  process.exitCode = 0
  return Effect.never
})

/** Where a listener on this host is reached from this machine. */
export const reachable = (host: string): string => {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1"
  return host.includes(":") ? `[${host}]` : host
}

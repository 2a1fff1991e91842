import type { Server } from "node:http"
import { Effect, type Scope } from "effect"

/** Has a server listen on a free port of loopback for as long as the scope lives, and answers the port. */
export const listening = (server: Server): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
    () =>
      Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            server.close(() => resolve())
            server.closeAllConnections()
          })
      )
  ).pipe(
    Effect.map(() => {
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : 0
    })
  )

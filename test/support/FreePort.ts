import { createServer } from "node:http"
import { Effect } from "effect"

/** A port that was free a moment ago. */
export const freePort = Effect.promise(
  () =>
    new Promise<number>((found) => {
      const server = createServer()
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        server.close(() => found(typeof address === "object" ? (address?.port ?? 0) : 0))
      })
    })
)

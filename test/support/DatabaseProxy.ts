import { connect, createServer, type Socket } from "node:net"
import { Effect, Redacted } from "effect"

/** A line to a database that a test can hold, as when the server hangs, and cut, as when it is gone. */
export const databaseProxy = (database: Redacted.Redacted) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const url = new URL(Redacted.value(database))
      let target = { port: Number(url.port), host: url.hostname }
      const ends = new Set<Socket>()
      let held = false
      const server = createServer((client) => {
        const upstream = connect(target)
        for (const [from, to] of [[client, upstream] as const, [upstream, client] as const]) {
          ends.add(from)
          from.on("data", (chunk) => void to.write(chunk))
          from.on("error", () => undefined)
          from.on("close", () => {
            ends.delete(from)
            to.destroy()
          })
          if (held) from.pause()
        }
      })
      const listen = (port: number) => new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening))
      await listen(0)
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      url.hostname = "127.0.0.1"
      url.port = String(port)
      const hold = (now: boolean): void => {
        held = now
        for (const end of ends) end[now ? "pause" : "resume"]()
      }
      const cut = () =>
        new Promise<void>((closed) => {
          server.close(() => closed())
          for (const end of ends) end.destroy()
        })
      return {
        database: Redacted.make(url.href),
        /** Nothing passes any more, and nobody is told. */
        hold: Effect.sync(() => hold(true)),
        letGo: Effect.sync(() => hold(false)),
        /** Nothing passes any more on the connections that there are, as when a machine has vanished and another has its address. */
        strand: Effect.sync(() => {
          for (const end of ends) end.pause()
        }),
        /** New connections reach this port. */
        leadTo: (port: number) =>
          Effect.sync(() => {
            target = { ...target, port }
          }),
        /** Every connection breaks, and new ones are refused. */
        cut: Effect.promise(cut),
        mend: Effect.promise(() => listen(port)),
        cutForGood: () => cut().catch(() => undefined)
      }
    }),
    ({ cutForGood }) => Effect.promise(cutForGood)
  )

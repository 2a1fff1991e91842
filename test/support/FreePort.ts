import { createServer } from "node:net"
import { Effect } from "effect"

/** Below the ports that Linux, macOS and Windows give to outgoing connections and to servers that ask for any port. */
const [FIRST, COUNT] = [10_000, 22_000]
const given = new Set<number>()

const isFree = (port: number): Promise<boolean> =>
  new Promise((said) => {
    const server = createServer()
    server.once("error", () => said(false)).listen(port, "127.0.0.1", () => server.close(() => said(true)))
  })

/** A port that was free a moment ago, that this process was not given before, and that nobody else is given by chance. */
const newPort = async (): Promise<number> => {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if (given.has(port)) continue
    given.add(port)
    if (await isFree(port)) return port
  }
}

export const freePort = Effect.promise(newPort)

export const freePorts = (count: number): Promise<ReadonlyArray<number>> => Promise.all(Array.from({ length: count }, newPort))

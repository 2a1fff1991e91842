import { createServer, type Socket } from "node:net"
import { Effect, Redacted } from "effect"

/** Speaks enough of Redis to hold buckets that never fill again; what its real script computes is Effect's own matter. */
export const fakeRedis = (left: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const seen: Array<string> = []
      const tokens = new Map<string, number>()
      const sockets = new Set<Socket>()
      const answer = (command: ReadonlyArray<string>): string => {
        const [name = "", , , bucket = "", , taken = "", , , , overflow] = command
        if (/^EVAL/i.test(name)) {
          seen.push(bucket)
          const rest = (tokens.get(bucket) ?? left) - Number(taken)
          if (rest >= 0 || overflow === "1") tokens.set(bucket, rest)
          return `*2\r\n$${String(rest).length}\r\n${rest}\r\n$1\r\n0\r\n`
        }
        return /^HELLO/i.test(name) ? "%1\r\n+server\r\n+redis\r\n" : "+OK\r\n"
      }
      const server = createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => socket.destroy())
        socket.on("data", (bytes) => {
          const parts = bytes.toString().split("\r\n")
          for (let at = 0; at < parts.length; ) {
            const count = Number(/^\*(\d+)/.exec(parts[at] ?? "")?.[1] ?? 0)
            if (count > 0) socket.write(answer(Array.from({ length: count }, (_, index) => parts[at + 2 + 2 * index] ?? "")))
            at += 1 + 2 * count
          }
        })
      })
      const start = (port: number) => new Promise<void>((resolve) => void server.listen(port, "127.0.0.1", () => resolve()))
      await start(0)
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const stop = async () => {
        for (const socket of sockets) socket.destroy()
        await new Promise<void>((resolve) => void server.close(() => resolve()))
      }
      return { url: Redacted.make(`redis://:hidden@127.0.0.1:${port}`), seen, start: () => start(port), stop, tokens }
    }),
    ({ stop }) => Effect.promise(stop)
  )

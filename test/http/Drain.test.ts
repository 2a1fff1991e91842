import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { expect, it } from "vitest"
import { makeHttpServer } from "../../src/http/NodeListener.ts"

const DRAIN_MS = 5_000

/** A listener that is asked to stop, two connections that were answered before, and its timers. */
const givenStopping = async () => {
  const timers: Array<{ readonly ms: number; readonly fire: () => void }> = []
  const server = makeHttpServer({
    timer: (ms, fire) => {
      timers.push({ ms, fire })
      return () => undefined
    },
    keepAliveDrainMs: DRAIN_MS,
    placeFor: () => () => {},
    onRefused: () => {}
  })
  server.on("request", (_, response) => response.end("ok"))
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const [first, second] = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")]
  const answers = [await asked(first), await asked(second)]
  const stopped = new Promise((end) => server.close(end))
  return { answers, first, second, stopped, idle: timers.filter(({ ms }) => ms === DRAIN_MS) }
}

const asked = async (socket: Socket): Promise<string> => {
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
  const [answer] = await once(socket, "data")
  return String(answer).toLowerCase()
}

it("a listener that stops answers one more request on a connection that was idle, says that it is the last, and closes the others in time", async () => {
  const { answers, first, idle, second, stopped } = await givenStopping()
  expect(answers.map((answer) => answer.includes("connection: keep-alive"))).toStrictEqual([true, true])
  const ended = once(first, "close")
  const last = await asked(first)
  expect(last).toContain("200 ok")
  expect(last).toContain("connection: close")
  await ended
  expect([second.readyState, idle.length]).toStrictEqual(["open", 1])
  idle[0]?.fire()
  await stopped
})

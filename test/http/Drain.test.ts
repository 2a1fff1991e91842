import { once } from "node:events"
import type { Socket } from "node:net"
import { expect, it } from "vitest"
import { bareListener, opened } from "../support/BareListener.ts"

const DRAIN_MS = 5_000

/** A listener that is asked to stop, two connections that were answered before, and its timers. */
const givenStopping = async () => {
  const { port, server, timers } = await bareListener((response) => void response.end("ok"), DRAIN_MS)
  const [first, second] = [await opened(port), await opened(port)]
  const answers = [await asked(first), await asked(second)]
  const stopped = new Promise((end) => server.close(end))
  return { answers, first, second, stopped, idle: timers.filter(({ ms }) => ms === DRAIN_MS) }
}

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
const EXPECTS = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}"

const asked = async (socket: Socket, request = GET): Promise<string> => {
  socket.write(request)
  let answer = ""
  while (!answer.endsWith("ok")) answer += String((await once(socket, "data"))[0]).toLowerCase()
  return answer
}

it.each([
  { kind: "any", request: GET },
  { kind: "one that expects 100-continue", request: EXPECTS }
])(
  "a listener that stops answers one more request ($kind) on a connection that was idle, says that it is the last, and closes the others in time",
  async ({ request }) => {
    const { answers, first, idle, second, stopped } = await givenStopping()
    expect(answers.map((answer) => answer.includes("connection: keep-alive"))).toStrictEqual([true, true])
    const ended = once(first, "close")
    const last = await asked(first, request)
    expect(last).toContain("200 ok")
    expect(last).toContain("connection: close")
    await ended
    expect([second.readyState, idle.length]).toStrictEqual(["open", 1])
    idle[0]?.fire()
    await stopped
  }
)

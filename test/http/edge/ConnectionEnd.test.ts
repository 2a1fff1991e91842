import { once } from "node:events"
import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { describe, expect, it } from "vitest"
import { bareListener, closed, opened, turn } from "../../support/BareListener.ts"
import { onEdge } from "../../support/EdgeClient.ts"

const GET = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
const EXPECTS = "GET /health HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"
const WITH_BODY = "POST /health HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx"
const LAST = "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
const CLOSE_MS = 2_000
const MEBIBYTE = 1024 * 1024
/** More than the buffers of both ends take. */
const LARGE = 32 * MEBIBYTE

/** Everything that came until the server stopped writing, and how the connection ended. */
const heard = (socket: Socket): Promise<{ readonly text: string; readonly end: string }> =>
  new Promise((resolve) => {
    const chunks: Array<Buffer> = []
    const done = (end: string) => resolve({ text: Buffer.concat(chunks).toString("latin1"), end })
    socket.removeAllListeners("error").on("error", (error) => done(error.message))
    socket
      .on("data", (chunk) => chunks.push(chunk))
      .on("end", () => done("end"))
      .resume()
  })
const turns = async (count: number) => {
  for (let at = 0; at < count; at++) await turn()
}
const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

/** A listener that answers only when the test does. */
const answering = async () => {
  const asked: Array<ServerResponse> = []
  const listener = await bareListener((response) => void asked.push(response))
  const socket = await opened(listener.port)
  const until = async (count: number) => {
    while (asked.length < count) await turn()
  }
  return { ...listener, asked, socket, until }
}

describe("a connection between two requests", () => {
  it("4. is kept for 75 s, longer than load balancers keep theirs, and no deadline of a request ends it sooner", async () => {
    const { port, server, stop } = await bareListener((response) => void response.end())
    const socket = await opened(port)
    socket.write(GET)
    const [head] = await once(socket, "data")
    expect(String(head)).toMatch(/keep-alive: timeout=75\r/i)
    expect(server).toMatchObject({ keepAliveTimeout: 75_000, headersTimeout: 30_000, requestTimeout: 30_000 })
    stop()
  })
})

describe("the last response of a connection", () => {
  it("arrives whole although its client goes on sending", async () => {
    const { asked, socket, stop, until } = await answering()
    socket.pause().write(GET)
    await until(1)
    // Most of this is left in the kernel, because the server stops reading a body that nobody takes.
    socket.write(`POST /health HTTP/1.1\r\nHost: a\r\nContent-Length: ${LARGE}\r\n\r\n`)
    socket.write(Buffer.alloc(MEBIBYTE))
    await until(2)
    await turns(100)
    // The kernel takes all of this, and more than the client's half of it may hold.
    asked[0]?.writeHead(200, { connection: "close", "content-length": MEBIBYTE }).end(Buffer.alloc(MEBIBYTE, "a"))
    await turns(100)
    const { end, text } = await heard(socket)
    expect([text.split("\r\n\r\n")[1]?.length, end]).toEqual([MEBIBYTE, "end"])
    socket.destroy()
    stop()
  })

  it("is that of the last request: what follows it is not worked on", async () => {
    const { asked, socket, stop, until } = await answering()
    const all = heard(socket)
    socket.write(GET)
    await until(1)
    asked[0]?.setHeader("connection", "close").write("a")
    socket.write(GET.repeat(3))
    await turns(100)
    asked[0]?.end("b")
    const { text } = await all
    expect([statusesIn(text), asked.length]).toEqual([[200], 1])
    socket.destroy()
    stop()
  })

  it("is not kept from its client by bytes after a request that said `Connection: close`", async () => {
    const { asked, socket, stop, until } = await answering()
    const all = heard(socket)
    socket.write(`${LAST}GET /health`)
    await until(1)
    asked[0]?.end("answered")
    const { end, text } = await all
    expect([statusesIn(text), text.endsWith("\r\n\r\nanswered"), end]).toEqual([[200], true, "end"])
    socket.destroy()
    stop()
  })

  it("leaves its client two seconds to close, in which no more than 256 KiB are read", async () => {
    const sockets: Array<Socket> = []
    const { port, server, stop, timers } = await bareListener((response) => void response.end("answered"))
    server.on("connection", (socket) => sockets.push(socket))
    const socket = await opened(port, { allowHalfOpen: true })
    const all = heard(socket)
    socket.write(LAST)
    expect((await all).end).toBe("end")
    const cut = closed(socket)
    socket.write(Buffer.alloc(LARGE))
    while (sockets[0]?.isPaused() === false) await turn()
    expect(sockets[0]?.bytesRead).toBeLessThan(512 * 1024)
    expect(timers.map(({ ms }) => ms)).toEqual([CLOSE_MS])
    timers[0]?.fire()
    await cut
    expect(timers).toEqual([])
    stop()
  })
})

describe("bytes that are no request", () => {
  it.each(["nonsense\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"])(
    "are refused after the requests before them have their answers: %j",
    async (bytes) => {
      const { asked, socket, stop, until } = await answering()
      const all = heard(socket)
      socket.write(`${GET}${GET}${bytes}`)
      await until(2)
      asked[1]?.end("second")
      await turn()
      asked[0]?.writeHead(200).write("fir")
      await turn()
      asked[0]?.end("st")
      const { end, text } = await all
      expect([statusesIn(text), end]).toEqual([[200, 200, bytes.startsWith("C") ? 405 : 400], "end"])
      expect(text).toMatch(/fir[^]*second[^]*connection: close/)
      socket.destroy()
      stop()
    }
  )

  it("end a request whose body they are, and the requests before it have their answers", async () => {
    const { asked, socket, stop, until } = await answering()
    const all = heard(socket)
    socket.write(`${GET}POST /health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n`)
    await until(2)
    await turn()
    asked[0]?.end("first")
    const { text } = await all
    expect(statusesIn(text)).toEqual([200, 400])
    socket.destroy()
    stop()
  })

  it("end a connection that its client resets, and nothing else", async () => {
    const { port, server, stop } = await bareListener((response) => void response.end())
    for (const bytes of ["CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "nonsense\r\n\r\n"]) {
      const gone = once(server, "connection").then(([socket]) => new Promise((resolve) => socket.once("close", resolve)))
      const socket = await opened(port)
      socket.write(bytes)
      await once(socket, "data")
      socket.resetAndDestroy()
      await gone
    }
    stop()
  })
})

describe("a request that expects 100-continue", () => {
  it(
    "is told to go on at once, and answered on a connection that goes on, also where it has no body",
    onEdge(async ({ port }) => {
      const socket = await opened(port)
      const all = heard(socket)
      for (const request of [EXPECTS, EXPECTS]) {
        socket.write(request)
        while (!String(await once(socket, "data")).includes("200 OK"));
      }
      socket.write(LAST)
      const { text } = await all
      expect(statusesIn(text)).toEqual([100, 200, 100, 200, 200])
      expect(text.match(/connection: close/gi)).toHaveLength(1)
      socket.destroy()
    })
  )

  it("is the last of its connection where it waits for its turn, and is told to go on then", async () => {
    const { asked, socket, stop, until } = await answering()
    const all = heard(socket)
    socket.write(`${GET}${WITH_BODY.slice(0, -1)}`)
    await until(2)
    const [first, second] = asked
    first?.end(Buffer.from("first"))
    while (asked[0]?.closed !== true) await turn()
    socket.write(`x${GET}`)
    while (!second?.req.complete) await turn()
    second?.end(Buffer.from("second"))
    const { text } = await all
    expect([statusesIn(text), asked.length]).toEqual([[200, 100, 200], 2])
    expect(text.match(/connection: close/gi)).toHaveLength(1)
    expect(text.endsWith("second")).toBe(true)
    socket.destroy()
    stop()
  })

  it("is answered whole where its answer comes before its turn", async () => {
    const { asked, socket, stop, until } = await answering()
    const all = heard(socket)
    socket.write(`${GET}${EXPECTS}${GET}`)
    await until(2)
    const [first, second] = asked
    second?.end(Buffer.from("second"))
    first?.end(Buffer.from("first"))
    const { text } = await all
    const parts = text.split("\r\n\r\n").map((part) => part.replace(/HTTP\/1\.1 (\d+)[^]*$/, " $1"))
    expect([parts, asked.length]).toEqual([[" 200", "first 200", "second"], 2])
    socket.destroy()
    stop()
  })

  it("counts as one of eight, whether it has a body or not", async () => {
    for (const request of [EXPECTS, WITH_BODY]) {
      const { asked, socket, stop, until } = await answering()
      const cut = closed(socket.resume())
      socket.write(`${request}${GET.repeat(7)}`)
      await until(8)
      socket.write(GET.repeat(100))
      await cut
      expect(asked).toHaveLength(8)
      stop()
    }
  })
})

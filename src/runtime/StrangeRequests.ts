import type { Server } from "node:http"

/** No cache keeps a copy, and no browser guesses the content type. */
export const neverKept = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const

/**
 * Answers the requests that Node would answer itself, without forbidding caches to store the answer: bytes that are not HTTP,
 * and headers that are too long or too late. A request with an `Expect` header is treated like any other. Create the server
 * with `requireHostHeader: false`, because Node answers a missing header too.
 */
export const answerStrangeRequests = (server: Server): Server =>
  server
    .on("clientError", ({ code = "" }: NodeJS.ErrnoException, socket) => {
      if (socket.writable && code !== "ECONNRESET") socket.end(refusal(statusLines.get(code) ?? "400 Bad Request"))
      else socket.destroy()
    })
    .on("checkExpectation", (request, response) => server.emit("request", request, response))

const statusLines = new Map([
  ["HPE_HEADER_OVERFLOW", "431 Request Header Fields Too Large"],
  ["ERR_HTTP_REQUEST_TIMEOUT", "408 Request Timeout"]
])

const refusal = (status: string): string =>
  `${[`HTTP/1.1 ${status}`, ...Object.entries(neverKept).map(([name, value]) => `${name}: ${value}`), "content-length: 0", "connection: close"].join("\r\n")}\r\n\r\n`

import { createServer } from "node:http"

// A process of its own: a tenant's receiver that takes everything at once. It counts, and tells when so many came as it was told to wait for.

let received = 0
let awaited = Number.POSITIVE_INFINITY

const server = createServer((request, response) => {
  request.resume()
  request.on("end", () => {
    response.writeHead(200, { "content-length": 0 })
    response.end()
    if (++received === awaited) process.send?.({ received })
  })
})
server.keepAliveTimeout = 600_000
process.on("message", (count: number) => {
  received = 0
  awaited = count
})
process.on("disconnect", () => process.exit())
server.listen(0, "127.0.0.1", () => process.send?.(server.address()))

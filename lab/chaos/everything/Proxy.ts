import { connect, createServer } from "node:net"

// node Proxy.ts PORT NODE_PORT…: a proxy of connections that knows nothing of HTTP. One that a node does not take goes to the next.

const [port, ...nodes] = process.argv.slice(2).map(Number)
let turn = 0

const server = createServer((client) => {
  turn++
  client.on("error", () => client.destroy())
  const to = (left: ReadonlyArray<number>): void => {
    const [node, ...others] = left
    if (node === undefined) return void client.destroy()
    const upstream = connect(node, "127.0.0.1")
    const refused = () => to(others)
    upstream.once("error", refused)
    upstream.once("connect", () => {
      upstream.off("error", refused).on("error", () => client.destroy())
      client.once("close", () => upstream.destroy())
      upstream.once("close", () => client.destroy())
      client.pipe(upstream).pipe(client)
    })
  }
  const at = turn % nodes.length
  to([...nodes.slice(at), ...nodes.slice(0, at)])
})
server.listen(port, "127.0.0.1")

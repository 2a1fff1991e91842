import { connect, createServer, type Socket } from "node:net"
import type { Node } from "./ReleaseBefore.ts"

/** A balancer of connections, as simple as they come: it knows nothing of HTTP. */
export interface Balancer {
  readonly url: string
  readonly host: string
  /** New connections go to these, in turn, while their `/readyz` says so. */
  readonly nodes: Set<Node>
  readonly close: () => Promise<void>
}

const ASK_EVERY_MS = 100
const ASK_WITHIN_MS = 1_000

export const openBalancer = async (port: number): Promise<Balancer> => {
  const nodes = new Set<Node>()
  const ready = new Set<Node>()
  const sockets = new Set<Socket>()
  let turn = 0
  const look = async (node: Node) => {
    const isReady = await fetch(`${node.management}/readyz`, { signal: AbortSignal.timeout(ASK_WITHIN_MS) }).then(
      ({ ok }) => ok,
      () => false
    )
    if (isReady && nodes.has(node)) ready.add(node)
    else ready.delete(node)
  }
  const looking = setInterval(() => void [...nodes].map(look), ASK_EVERY_MS)
  const server = createServer((client) => {
    // Where none says that it is ready, each is tried, as balancers do.
    const said = [...ready].filter((node) => nodes.has(node))
    const chosen = said.length > 0 ? said : [...nodes]
    turn++
    const to = (left: ReadonlyArray<Node>): void => {
      const [node, ...others] = left
      if (node === undefined) return void client.destroy()
      const upstream = connect(Number(new URL(node.url).port), "127.0.0.1")
      sockets.add(upstream).add(client)
      // One that takes no connections any more passes them on to the next.
      const refused = () => to(others)
      upstream.once("error", refused)
      upstream.once("connect", () => {
        upstream.off("error", refused)
        client.pipe(upstream).pipe(client)
        for (const [one, other] of [
          [client, upstream],
          [upstream, client]
        ] as const)
          one.once("close", () => other.destroy()).on("error", () => other.destroy())
      })
    }
    const at = turn % Math.max(1, chosen.length)
    to([...chosen.slice(at), ...chosen.slice(0, at)])
  })
  await new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening))
  return {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    nodes,
    close: async () => {
      clearInterval(looking)
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    }
  }
}

import { randomInt } from "node:crypto"
import {
  createServer as httpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse
} from "node:http"
import { createServer as httpsServer } from "node:https"
import { createServer, type Socket } from "node:net"
import { Webhook } from "standardwebhooks"
import { rightful } from "./Certificates.ts"
import type { ReceiverKind } from "./Kinds.ts"

/** A tenant's receiver that fails in its own way until it is healed, and what it saw. */
export interface Receiver {
  readonly kind: ReceiverKind
  readonly url: string
  readonly heard: Heard
  readonly learn: (secret: string) => void
  /** From now on it works. */
  readonly heal: () => Promise<void>
  readonly close: () => Promise<void>
}

export interface Heard {
  /** Whole events that were read, as often as they came. */
  attempts: number
  /** Requests under way now, and at most so far. */
  underWay: number
  mostUnderWay: number
  /** The bytes of each event. */
  readonly bodies: Map<string, string>
  /** Events that it said 2xx to. */
  readonly taken: Set<string>
  /** Wrong signatures, requests where a redirect pointed. */
  readonly faults: Array<string>
  /** Events whose bytes were not those of the attempt before. */
  readonly changed: Set<string>
}

const newHeard = (): Heard => ({
  attempts: 0,
  underWay: 0,
  mostUnderWay: 0,
  bodies: new Map(),
  taken: new Set(),
  faults: [],
  changed: new Set()
})

export const openReceiver = async (kind: ReceiverKind, dripMs: number): Promise<Receiver> => {
  const heard = newHeard()
  const sockets = new Set<Socket>()
  const drips = new Set<NodeJS.Timeout>()
  let isHealed = false
  let secret = ""
  let turn = 0

  const slowly = (step: () => void) => void drips.add(setInterval(step, dripMs))
  const take = (id: string, response: ServerResponse) => {
    if (isHealed || kind.answer === undefined) {
      heard.taken.add(id)
      return void response.writeHead(204).end()
    }
    turn++
    if (kind.takes?.(turn) === true) heard.taken.add(id)
    kind.answer(response, turn, slowly)
    if (kind.dies) response.once("finish", () => void close())
  }
  const serve: RequestListener = async (request, response) => {
    heard.mostUnderWay = Math.max(heard.mostUnderWay, ++heard.underWay)
    response.once("close", () => void heard.underWay--)
    const body = await textOf(request)
    if (body === undefined) return
    const id = String(request.headers["webhook-id"])
    note(heard, request, body, secret)
    take(id, response)
  }
  const well = listenerOf(kind.secure === true ? httpsServer(rightful, serve) : httpServer(serve))
  const bad = kind.certificate === undefined ? well : listenerOf(httpsServer(kind.certificate, serve))
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}))
    socket.once("close", () => sockets.delete(socket))
    if (isHealed) return well(socket)
    return kind.connected === undefined ? bad(socket) : kind.connected(socket)
  })
  const listen = (port: number) =>
    new Promise<void>((listening, failed) => {
      server.once("error", failed)
      server.listen(port, "127.0.0.1", () => {
        server.off("error", failed)
        listening()
      })
    })
  const close = async () => {
    for (const drip of drips) clearInterval(drip)
    const closed = server.listening ? new Promise((done) => server.close(done)) : Promise.resolve()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  await (kind.closed ? listenAside(listen) : listen(0))
  const address = server.address()
  const port = typeof address === "object" ? (address?.port ?? 0) : 0
  if (kind.closed) await close()
  const heal = async () => {
    isHealed = true
    // What it left hanging ends with whatever was wrong with it.
    for (const drip of drips) clearInterval(drip)
    if (!server.listening) await listen(port)
  }
  const url = `${kind.secure === true ? "https" : "http"}://127.0.0.1:${port}/hook`
  return { kind, url, heard, learn: (given) => void (secret = given), heal, close }
}

/** Below the ports that the system gives to whoever asks for any: one that is closed for a while must still be free afterwards. */
const PORTS_ASIDE = [20_000, 32_000] as const
const ATTEMPTS = 20

const listenAside = async (listen: (port: number) => Promise<void>): Promise<void> => {
  for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
    const isListening = await listen(randomInt(...PORTS_ASIDE)).then(
      () => true,
      () => false
    )
    if (isListening) return
  }
  await listen(randomInt(...PORTS_ASIDE))
}

/** Serves a connection that was taken elsewhere. */
const listenerOf = (server: Server) => (socket: Socket) => {
  server.emit("connection", socket)
}

const textOf = async (request: IncomingMessage): Promise<string | undefined> => {
  try {
    let text = ""
    for await (const chunk of request.setEncoding("utf8")) text += chunk
    return text
  } catch {
    return undefined
  }
}

const note = (heard: Heard, { headers, url }: IncomingMessage, body: string, secret: string): void => {
  const id = String(headers["webhook-id"])
  heard.attempts++
  if (url !== "/hook") heard.faults.push(`${id}: came to ${url}`)
  try {
    new Webhook(secret).verify(body, Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])))
  } catch (cause) {
    heard.faults.push(`${id}: ${cause}`)
  }
  if ((heard.bodies.get(id) ?? body) !== body) heard.changed.add(id)
  heard.bodies.set(id, body)
}

import { connect, type Socket } from "node:net"

export interface Answer {
  readonly status: number
  readonly body: Buffer
}

const END_OF_HEAD = Buffer.from("\r\n\r\n")
const NOTHING = Buffer.alloc(0)

/**
 * One keep-alive connection that sends bytes made beforehand and reads one answer at a time. It knows as much of HTTP as both services
 * say: a status and a content-length. A general client would cost the generator more than a request costs the service.
 */
export class Connection {
  readonly #port: number
  #socket: Socket
  #held: Buffer = NOTHING
  #resolve: ((answer: Answer) => void) | undefined
  #reject: ((cause: Error) => void) | undefined

  private constructor(port: number, socket: Socket) {
    this.#port = port
    this.#socket = this.#heard(socket)
  }

  #heard(socket: Socket): Socket {
    socket.on("data", (chunk) => this.#take(chunk))
    socket.on("error", (cause) => this.#reject?.(cause))
    socket.on("close", () => this.#reject?.(new Error("the connection was closed")))
    return socket
  }

  static async open(port: number): Promise<Connection> {
    return new Connection(port, await connected(port))
  }

  async send(bytes: Buffer): Promise<Answer> {
    // The service closes a connection that is idle for longer than it says.
    if (this.#socket.destroyed || this.#socket.readableEnded) this.#socket = this.#heard(await connected(this.#port))
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#socket.write(bytes)
    })
  }

  close(): void {
    this.#reject = undefined
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    const head = this.#held.indexOf(END_OF_HEAD)
    if (head === -1) return
    const text = this.#held.toString("latin1", 0, head)
    const length = Number(/content-length: *(\d+)/i.exec(text)?.[1] ?? 0)
    const start = head + END_OF_HEAD.length
    if (this.#held.length < start + length) return
    const answer = { status: Number(text.slice(9, 12)), body: this.#held.subarray(start, start + length) }
    this.#held = this.#held.subarray(start + length)
    const resolve = this.#resolve
    this.#resolve = undefined
    this.#reject = undefined
    resolve?.(answer)
  }
}

const connected = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true })
    socket.once("error", reject)
    socket.once("connect", () => {
      socket.off("error", reject)
      resolve(socket)
    })
  })

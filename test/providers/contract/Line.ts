import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Effect, type Scope } from "effect"

/** An answer as the provider gave it, before the line does something to it. */
interface Whole {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/** What becomes of a request on a bad line: only with `heard` does the provider get it. */
export interface Fault {
  readonly name: string
  readonly heard: boolean
  /** Broken before anything of the request is read. */
  readonly atOnce: boolean
  /** What is made of the provider's answer. */
  readonly answer: (whole: Whole) => Whole
  /** How many bytes of it arrive; what comes then is `end`. */
  readonly upTo: (bytes: Buffer) => number
  readonly end: "reset" | "close" | "silence"
}

const fault = (name: string, change: Partial<Fault>): Fault => ({
  name,
  heard: true,
  atOnce: false,
  answer: (whole) => whole,
  upTo: (bytes) => bytes.length,
  end: "close",
  ...change
})

const torn = (name: string, upTo: Fault["upTo"], end: Fault["end"] = "reset"): Fault => fault(name, { upTo, end })
const headEnd = (bytes: Buffer): number => bytes.indexOf("\r\n\r\n") + 4
const other = (name: string, change: Partial<Whole>): Fault => fault(name, { answer: (whole) => ({ ...whole, ...change }) })

const JSON_TYPE = "application/json"
const page = { contentType: "text/html", body: "<html><body>Something else answers here</body></html>" }

/** The request never arrives. */
export const unheard: ReadonlyArray<Fault> = [
  fault("a reset before the request is read", { heard: false, atOnce: true, end: "reset" }),
  fault("a reset after the request was read", { heard: false, end: "reset" }),
  fault("an end without an answer", { heard: false })
]

export const lostAnswer = torn("a reset in place of the answer", () => 0)

/** The request arrives; the answer does not, or it is somebody else's. */
export const unanswered: ReadonlyArray<Fault> = [
  lostAnswer,
  torn("an end in place of the answer", () => 0, "close"),
  torn("a reset in the status line", () => 7),
  torn("a reset after the status line", (bytes) => bytes.indexOf("\r\n") + 2),
  torn("a reset in the headers", (bytes) => bytes.indexOf("\r\n") + 9),
  ...[500, 503, 504, 429].map((status) => other(`a page under HTTP ${status}`, { status, ...page })),
  // A firewall's page is not the provider's refusal: whether the provider heard, nobody knows.
  ...[400, 403, 404, 409].map((status) => other(`a page under HTTP ${status}`, { status, ...page })),
  other("a redirection", { status: 307, contentType: "", body: "" })
]

/** The answer arrives spoiled; one that has no body has nothing to spoil. */
export const spoiled: ReadonlyArray<Fault> = [
  torn("a reset before the body", headEnd),
  torn("a reset in the body", (bytes) => Math.floor((headEnd(bytes) + bytes.length) / 2)),
  torn("a reset before the last byte", (bytes) => bytes.length - 1),
  torn("an end before the last byte", (bytes) => bytes.length - 1, "close"),
  other("a page under the provider's status", page),
  other("an empty body", { body: "" }),
  other("JSON that breaks off", { contentType: JSON_TYPE, body: '{"status":' }),
  other("JSON of another shape", { contentType: JSON_TYPE, body: '{"x":[null,{}]}' }),
  other("JSON null", { contentType: JSON_TYPE, body: "null" }),
  other("its own JSON under another content type", { contentType: "text/html" })
]

/** The answer arrives whole, after something has happened. */
export const answeredAfter = (happens: () => void): Fault =>
  fault("an answer after something has happened", {
    answer: (whole) => {
      happens()
      return whole
    }
  })

/** Nothing more comes before the deadline. */
export const silent: ReadonlyArray<Fault> = [
  fault("silence without the request", { heard: false, end: "silence" }),
  torn("silence in place of the answer", () => 0, "silence"),
  torn("silence in the answer", (bytes) => headEnd(bytes) - 3, "silence")
]

/** The provider names no fee, under whatever name it has one. */
export const feeless = fault("answers without a fee", { answer: (whole) => ({ ...whole, body: withoutFees(whole.body) }) })

/** The same, and what was only just made is paid already. */
export const paidAtOnce = (paid: string): Fault =>
  fault("answers paid without a fee", {
    answer: (whole) => ({ ...whole, body: withoutFees(whole.body).replaceAll('"status":"pending"', `"status":"${paid}"`) })
  })

function withoutFees(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body, (name, value: unknown) => (/fee|settled/i.test(name) ? undefined : value)))
  } catch {
    return body
  }
}

export interface Line {
  readonly baseUrl: string
  /** Whether the request of that number came. */
  readonly reached: () => boolean
  /** Whether the provider's answer to it had a body. */
  readonly hadBody: () => boolean
}

/** A line to a provider that is bad for the request of this number, and for all after it where `lasting`. */
export const openLine = Effect.fnUntraced(function* (
  target: string,
  fault: Fault,
  number: number,
  lasting: boolean
): Effect.fn.Return<Line, never, Scope.Scope> {
  const { origin, pathname } = new URL(target)
  const sockets = new Map<Socket, number>()
  let hadBody = false
  const isBad = (socket: Socket) => {
    const own = sockets.get(socket) ?? 0
    return own === number || (lasting && own > number)
  }
  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    const { socket } = incoming
    const body = await read(incoming)
    response.detachSocket(socket)
    if (!isBad(socket)) return socket.end(written(await forwarded(origin, incoming, body)))
    if (!fault.heard) return finish(socket, Buffer.alloc(0), fault.end)
    const whole = await forwarded(origin, incoming, body)
    if (sockets.get(socket) === number) hadBody = whole.body !== ""
    const bytes = written(fault.answer(whole))
    return finish(socket, bytes.subarray(0, fault.upTo(bytes)), fault.end)
  }
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => incoming.socket.destroy())
  })
  server.on("connection", (socket: Socket) => {
    sockets.set(socket, sockets.size + 1)
    socket.on("error", () => undefined)
    if (fault.atOnce && isBad(socket)) socket.resetAndDestroy()
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
    () =>
      Effect.promise(() => {
        for (const socket of sockets.keys()) socket.destroy()
        return new Promise<void>((resolve) => server.close(() => resolve()))
      })
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { baseUrl: `http://127.0.0.1:${port}${pathname}`, reached: () => sockets.size >= number, hadBody: () => hadBody }
})

const finish = (socket: Socket, bytes: Buffer, end: Fault["end"]): void => {
  if (end === "silence") return void socket.write(bytes)
  if (end === "close") return void socket.end(bytes)
  if (bytes.length === 0) return void socket.resetAndDestroy()
  // A reset may overtake what is still being sent.
  socket.write(bytes, () => setImmediate(() => socket.resetAndDestroy()))
}

const read = async (incoming: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of incoming) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const forwarded = async (origin: string, incoming: IncomingMessage, body: Buffer): Promise<Whole> => {
  const onward = request(`${origin}${incoming.url ?? "/"}`, { method: incoming.method, headers: incoming.headers })
  onward.end(body)
  const answer = await new Promise<IncomingMessage>((resolve, reject) => onward.on("response", resolve).on("error", reject))
  const text = (await read(answer)).toString("utf8")
  return { status: answer.statusCode ?? 0, contentType: answer.headers["content-type"] ?? "", body: text }
}

/** As bytes of HTTP, one answer a connection. */
const written = ({ body, contentType, status }: Whole): Buffer => {
  const type = contentType === "" ? "" : `content-type: ${contentType}\r\n`
  const length = Buffer.byteLength(body)
  return Buffer.from(`HTTP/1.1 ${status} Said\r\n${type}content-length: ${length}\r\nconnection: close\r\n\r\n${body}`)
}

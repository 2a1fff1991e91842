import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { gzipSync } from "node:zlib"
import { type Certificate, ofAnotherHost, selfSigned } from "./Certificates.ts"

/** How a receiver fails until it is healed. A member that is absent goes well. */
export interface ReceiverKind {
  readonly name: string
  /** It is reached by https. */
  readonly secure?: true
  /** Nothing listens. */
  readonly closed?: true
  /** The certificate that it shows. */
  readonly certificate?: Certificate
  /** What it does with a connection instead of serving it. */
  readonly connected?: (socket: Socket) => void
  /** What it does once it has read an event, of which this is the `turn`-th. */
  readonly answer?: (response: ServerResponse, turn: number, slowly: Slowly) => void
  /** It says 2xx: the event is its own affair from then on. */
  readonly takes?: (turn: number) => boolean
  /** It stops listening after its first answer. */
  readonly dies?: true
}

/** Does something again and again for as long as the receiver lives. */
export type Slowly = (step: () => void) => void

const always = () => true
const status = (code: number, headers: Record<string, string> = {}) => ({
  answer: (response: ServerResponse) => void response.writeHead(code, headers).end(`status ${code}`)
})
const raw = (text: string) => ({ answer: (response: ServerResponse) => void response.socket?.end(text) })
const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024))
const MUCH = Buffer.alloc(64 * 1024, "x")

/** Every way to fail that was thought of, and two that never do. */
export const kinds: ReadonlyArray<ReceiverKind> = [
  { name: "well" },
  { name: "well, by TLS", secure: true },
  { name: "refuses the connection", closed: true },
  { name: "resets before reading", connected: (socket) => void socket.resetAndDestroy() },
  { name: "resets before headers", answer: (response) => void response.socket?.resetAndDestroy() },
  {
    name: "resets after headers",
    answer: (response) => {
      response.writeHead(200, { "content-length": "10" }).flushHeaders()
      setImmediate(() => response.socket?.resetAndDestroy())
    },
    takes: always
  },
  { name: "hangs up without a word", answer: (response) => void response.socket?.end() },
  { name: "hangs", answer: () => {} },
  { name: "never reads", connected: (socket) => void socket.pause() },
  {
    name: "drips its body",
    answer: (response, _turn, slowly) => {
      response.writeHead(200).flushHeaders()
      slowly(() => response.write("."))
    },
    takes: always
  },
  {
    name: "drips its headers",
    answer: ({ socket }, _turn, slowly) => {
      socket?.write("HTTP/1.1 200 OK\r\nx-slow: ")
      slowly(() => socket?.write("."))
    }
  },
  ...[301, 302, 307, 308].map((code) => ({ name: `redirects ${code}`, ...status(code, { location: "/elsewhere" }) })),
  ...[400, 401, 404, 410, 500, 502, 503].map((code) => ({ name: `answers ${code}`, ...status(code) })),
  { name: "answers 429", ...status(429) },
  { name: "answers 429 with seconds", ...status(429, { "retry-after": "1" }) },
  { name: "answers 429 with a date", ...status(429, { "retry-after": "Fri, 31 Dec 2100 23:59:59 GMT" }) },
  { name: "answers 429 absurdly", ...status(429, { "retry-after": "-99999999999999999999, soon" }) },
  {
    name: "sends half a body",
    answer: (response) =>
      void response.writeHead(200, { "content-length": "100" }).write("half", () => response.socket?.destroy()),
    takes: always
  },
  {
    name: "sends an endless body",
    answer: (response) => {
      const more = () => void (response.destroyed || response.write(MUCH, more))
      response.writeHead(200)
      more()
    },
    takes: always
  },
  { name: "has a self-signed certificate", secure: true, certificate: selfSigned },
  { name: "has another host's certificate", secure: true, certificate: ofAnotherHost },
  { name: "speaks plain HTTP on its TLS port", secure: true, connected: (socket) => void socket.end("HTTP/1.1 400 Bad\r\n\r\n") },
  { name: "says nothing to TLS", secure: true, connected: (socket) => void socket.resume() },
  {
    name: "flips and flops",
    answer: (response, turn) => void response.writeHead(turn % 2 === 0 ? 204 : 503).end(),
    takes: (turn) => turn % 2 === 0
  },
  { name: "answers 200, then dies", ...status(200), takes: always, dies: true },
  {
    name: "closes a connection that it kept alive",
    answer: (response) => void response.writeHead(200).end("kept", () => setImmediate(() => response.socket?.destroy())),
    takes: always
  },
  {
    name: "sends huge headers",
    answer: ({ socket }) => void socket?.end(`HTTP/1.1 200 OK\r\n${"x-large: y\r\n".repeat(100_000)}\r\n`)
  },
  {
    name: "sends a gzip bomb",
    answer: (response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(bomb),
    takes: always
  },
  { name: "sends more than its content-length", ...raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nmuch more"), takes: always },
  { name: "sends two content-lengths", ...raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc") },
  {
    name: "sends informational answers only",
    answer: ({ socket }, _turn, slowly) => slowly(() => socket?.write("HTTP/1.1 103 Early Hints\r\n\r\n"))
  },
  { name: "switches protocols", ...raw("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: nothing\r\n\r\n") },
  { name: "speaks no HTTP", ...raw("220 mail.example ESMTP\r\n") }
]

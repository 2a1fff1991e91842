import { connect, type Socket } from "node:net"
import { makeAnswerReader } from "./Answers.ts"
import type { Answer, Case } from "./Case.ts"

/** What came of a case. */
export interface Heard {
  readonly answers: ReadonlyArray<Answer>
  /** From the first byte that was written to the last that was read. */
  readonly ms: number
  /** Bytes that are no answer, or none in time. */
  readonly fault?: string
}

/** No answer may take longer, nor the end of a connection that its client has ended. */
export const ANSWERED_WITHIN_MS = 10_000

/** One client: it has a connection that goes on, and others that are ended with what is not whole. */
export const makeClient = (port: number, localAddress: string) => {
  let kept: Socket | undefined
  const open = () => connect({ port, host: "127.0.0.1", localAddress, noDelay: true, allowHalfOpen: true })
  const whole = async (one: Case): Promise<Heard> => {
    const socket = kept !== undefined && !kept.destroyed && kept.writable ? kept : open()
    kept = undefined
    const heard = await exchange(socket, one)
    const isLast = heard.answers.some(({ headers }) => headers["connection"] === "close")
    if (heard.fault !== undefined || isLast) socket.destroy()
    else kept = socket
    return heard
  }
  const broken = async (one: Case): Promise<Heard> => {
    const socket = open()
    const heard = await exchange(socket, one)
    socket.destroy()
    return heard
  }
  return {
    play: (one: Case): Promise<Heard> => (one.whole ? whole(one) : broken(one)),
    close: () => void kept?.destroy()
  }
}

/** A whole case ends with its last answer, any other with the connection. */
const exchange = (socket: Socket, { asked, pieces, whole }: Case): Promise<Heard> =>
  new Promise((heard) => {
    const began = performance.now()
    const answers: Array<Answer> = []
    const reader = makeAnswerReader(() => whole && asked[answers.length]?.method === "HEAD")
    const done = (fault?: string) => {
      clearTimeout(late)
      for (const event of ["data", "end", "error", "close"]) socket.removeAllListeners(event)
      socket.on("error", () => {})
      const ms = performance.now() - began
      // A refusal may come before its request has left as a whole, and the rest would be read as part of the next one.
      void written.then(() => heard(fault === undefined ? { answers, ms } : { answers, ms, fault }))
    }
    const isAnswered = () => whole && answers.length >= asked.length
    // A connection that was told to close need not answer the rest.
    const isClosing = () => answers.some(({ headers }) => headers["connection"] === "close")
    const over = () =>
      done(whole && !isAnswered() && !isClosing() ? `closed after ${answers.length} of ${asked.length} answers` : undefined)
    const late = setTimeout(() => done(whole ? "no answer in time" : "the connection is not closed in time"), ANSWERED_WITHIN_MS)
    socket.on("data", (chunk) => {
      try {
        reader.take(chunk)
        for (let next = reader.next(); next !== undefined; next = reader.next()) answers.push(next)
        if (!isAnswered()) return
        done(answers.length > asked.length || reader.isAmid() ? "more answers than requests" : undefined)
      } catch (error) {
        done(String(error))
      }
    })
    socket.on("end", () => over())
    socket.on("close", () => over())
    // A connection that the gateway has closed may say so by a reset.
    socket.on("error", () => over())
    const written = write(socket, pieces, !whole)
  })

const write = async (socket: Socket, pieces: ReadonlyArray<Buffer>, ends: boolean) => {
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await new Promise((next) => setImmediate(next))
    if (socket.destroyed) return
    socket.write(piece)
  }
  if (ends) socket.end()
}

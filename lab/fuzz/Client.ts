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
const ANSWERED_WITHIN_MS = 10_000

/** A client that resets its connection does so at the first answer, or after this time. */
const RESET_WITHIN_MS = 50

const EVENTS = ["data", "end", "error", "close"] as const

/** A connection that goes on, until when the gateway has promised to keep it if it is idle. */
interface Kept {
  readonly socket: Socket
  readonly untilMs: number
  /** What it did before then though nobody asked anything. */
  fault?: string
}

/** One client: it has a connection that goes on, and others that are ended with what is not whole. `now` is in milliseconds. */
export const makeClient = (port: number, localAddress: string, now = () => performance.now()) => {
  let kept: Kept | undefined
  const open = () => connect({ port, host: "127.0.0.1", localAddress, noDelay: true, allowHalfOpen: true })
  const keep = (socket: Socket, untilMs: number) => {
    const one: Kept = { socket, untilMs }
    const note = (fault: string) => {
      if (now() < untilMs) one.fault ??= fault
    }
    socket.once("data", () => note("bytes that nobody asked for"))
    for (const event of ["end", "close"]) socket.once(event, () => note("closed before the time that its last answer promised"))
    kept = one
  }
  const whole = async (one: Case): Promise<Heard> => {
    const idle = kept
    kept = undefined
    const isKept = idle !== undefined && idle.fault === undefined && now() < idle.untilMs
    if (!isKept) idle?.socket.destroy()
    const socket = isKept ? idle.socket : open()
    // The gateway counts from its last answer, which cannot be before this.
    const asked = now()
    const heard = await exchange(socket, one)
    const isLast = heard.answers.some(({ headers }) => headers["connection"] === "close")
    if (heard.fault !== undefined || isLast) socket.destroy()
    else keep(socket, asked + keptMsOf(heard.answers))
    return idle?.fault === undefined ? heard : { ...heard, fault: idle.fault }
  }
  const broken = async (one: Case): Promise<Heard> => {
    const socket = open()
    const heard = await exchange(socket, one)
    socket.destroy()
    return heard
  }
  return {
    play: (one: Case): Promise<Heard> => (one.whole ? whole(one) : broken(one)),
    /** The connection that goes on. */
    kept: () => kept?.socket,
    close: () => void kept?.socket.destroy()
  }
}

/** How long an idle connection is kept, as its last answer says. */
const keptMsOf = (answers: ReadonlyArray<Answer>): number =>
  Number(/\btimeout=(\d+)/.exec(answers.at(-1)?.headers["keep-alive"] ?? "")?.[1] ?? 0) * 1_000

/** A whole case ends with its last answer, any other with the connection. */
const exchange = (socket: Socket, { asked, isReset, pieces, whole }: Case): Promise<Heard> =>
  new Promise((heard) => {
    const began = performance.now()
    const answers: Array<Answer> = []
    const reader = makeAnswerReader(() => whole && asked[answers.length]?.method === "HEAD")
    for (const event of EVENTS) socket.removeAllListeners(event)
    const done = (fault?: string) => {
      clearTimeout(late)
      for (const event of EVENTS) socket.removeAllListeners(event)
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
    const written = write(socket, pieces, !whole && isReset !== true)
    if (isReset !== true) return
    const reset = setTimeout(() => socket.resetAndDestroy(), RESET_WITHIN_MS)
    socket.once("data", () => socket.resetAndDestroy()).once("close", () => clearTimeout(reset))
  })

const write = async (socket: Socket, pieces: ReadonlyArray<Buffer>, ends: boolean) => {
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await new Promise((next) => setImmediate(next))
    if (socket.destroyed) return
    socket.write(piece)
  }
  if (ends) socket.end()
}

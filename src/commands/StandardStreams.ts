import { fstatSync, writeSync } from "node:fs"
import { isatty } from "node:tty"
import { format } from "node:util"

// A stream of Node's that cannot write to its file, such as on a full disk, ends the process where nobody listens to its errors, and takes nothing
// any more where somebody does. A gateway outlives its log, and writes it again once there is room.

const STANDARD_ERROR = 2

const isFile = (descriptor: number): boolean => {
  try {
    const stat = fstatSync(descriptor)
    return stat.isFile() || (stat.isCharacterDevice() && !isatty(descriptor))
  } catch {
    return false
  }
}

/** A file takes a text at once, or it is lost and counted. The count is in the log as soon as something can be written. */
const linesTo = (descriptor: number, write: (descriptor: number, bytes: Buffer) => number = writeSync) => {
  let lost = 0
  const put = (text: string) => {
    for (let rest = Buffer.from(`${text}\n`); rest.length > 0; ) {
      const taken = write(descriptor, rest)
      if (taken === 0) throw new Error("nothing can be written")
      rest = rest.subarray(taken)
    }
  }
  return (...parts: ReadonlyArray<unknown>): void => {
    const text = format(...parts)
    try {
      if (lost > 0) put(`\n${JSON.stringify({ ...lostLines, annotations: { lines: lost } })}`)
      lost = 0
      put(text)
    } catch {
      lost += text.split("\n").length
    }
  }
}

/**
 * So much waits for a reader that does not read. Lines beyond it are lost, so that they do not fill the memory of the process. Node keeps a text
 * as it is and counts the units of two bytes in it: in UTF-8 they are one to three bytes.
 */
const UNREAD_UNITS = 4 * 1024 * 1024

interface Reader {
  /** How much Node keeps for it. */
  readonly unread: () => number
  readonly put: (text: string) => void
  /** Once it has taken everything. */
  readonly onRead: (then: () => void) => void
}

/**
 * A pipe or a terminal is written by Node, which keeps what its reader has not taken. As with a file, what is lost is counted; the count is in the
 * log as soon as all was read, whether or not another line follows.
 */
const linesToReader = ({ onRead, put, unread }: Reader) => {
  let lost = 0
  const tellLost = () => {
    if (lost > 0) put(JSON.stringify({ ...lostLines, annotations: { lines: lost } }))
    lost = 0
  }
  onRead(tellLost)
  return (...parts: ReadonlyArray<unknown>): void => {
    const text = format(...parts)
    if (unread() > UNREAD_UNITS) {
      lost += text.split("\n").length
      return
    }
    tellLost()
    put(text)
  }
}

const lostLines = { level: "error", message: "the log could not be written for a while, and what it said is lost" }

/** That console, whose errors are the log. */
const consoleOf = (standard: Console): Console => ({
  ...standard,
  error: isFile(STANDARD_ERROR)
    ? linesTo(STANDARD_ERROR)
    : linesToReader({
        unread: () => process.stderr.writableLength,
        put: (text) => standard.error("%s", text),
        onRead: (then) => void process.stderr.on("drain", then)
      })
})

/** A reader of the log that does not read keeps the end of a process waiting for so long. */
const LAST_WORDS_MS = 1_000

/** Goes on once, when all that was said on standard error has been taken, the reason of an end among it, or when its reader has had its time. */
const afterErrors = (then: () => void): void => {
  if (process.stderr.writableLength === 0) return then()
  let isOver = false
  const end = () => {
    if (!isOver) then()
    isOver = true
  }
  setTimeout(end, LAST_WORDS_MS)
  process.stderr.on("error", end)
  // The count of what was lost may be written once the rest was read.
  const wait = () => void process.stderr.write("", (error) => (error || process.stderr.writableLength === 0 ? end() : wait()))
  wait()
}

/** From then on a process serves although its standard output takes nothing. */
const surviveFullOutput = (): void => void process.stdout.on("error", () => undefined)

export const StandardStreams = { afterErrors, consoleOf, linesTo, linesToReader, surviveFullOutput }

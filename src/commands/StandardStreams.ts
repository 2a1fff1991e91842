import { fstatSync, writeSync } from "node:fs"
import { isatty } from "node:tty"
import { format } from "node:util"

// When a Node stream cannot write to its file, for example because the disk is full, it ends the process if there is no error
// listener; with one, it accepts no further text. A gateway must outlive its log, and write to it again once there is space.

const STANDARD_OUTPUT = 1
const STANDARD_ERROR = 2

const isFile = (descriptor: number): boolean => {
  try {
    const stat = fstatSync(descriptor)
    return stat.isFile() || (stat.isCharacterDevice() && !isatty(descriptor))
  } catch {
    return false
  }
}

type Write = (descriptor: number, bytes: Buffer) => number

/** A disk that is nearly full takes a part of a text; Node's own stream would count that as written. */
const wholeLines =
  (descriptor: number, write: Write) =>
  (text: string): void => {
    for (let rest = Buffer.from(`${text}\n`); rest.length > 0; ) {
      const taken = write(descriptor, rest)
      if (taken === 0) throw new Error("nothing can be written")
      rest = rest.subarray(taken)
    }
  }

/** A file accepts a text at once, or the text is lost and counted. The count is logged as soon as something can be written. */
const linesTo = (descriptor: number, write: Write = writeSync) => {
  let lost = 0
  const put = wholeLines(descriptor, write)
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
 * The most text that waits for a reader that does not read. Lines beyond it are lost, so that they do not fill the process's
 * memory. Node keeps a text as it is and counts its UTF-16 units, each of which is one to three bytes in UTF-8.
 */
const UNREAD_UNITS = 4 * 1024 * 1024

interface Reader {
  /** How much Node keeps for it. */
  readonly unread: () => number
  readonly put: (text: string) => void
  /** Called once it has read everything. */
  readonly onRead: (then: () => void) => void
}

/**
 * A pipe or a terminal is written by Node, which keeps whatever its reader has not read. As with a file, lost lines are
 * counted. The count is logged as soon as everything was read, whether or not another line follows.
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

const results = { areLost: false }

/** A file that does not take a result has lost it, perhaps the only copy of a new secret: the command must not end as done. */
const resultsTo = (descriptor: number, write: Write = writeSync) => {
  const put = wholeLines(descriptor, write)
  return (...parts: ReadonlyArray<unknown>): void => {
    try {
      put(format(...parts))
    } catch {
      results.areLost = true
    }
  }
}

/** The given console, with its errors going to the log. */
const consoleOf = (standard: Console): Console => ({
  ...standard,
  ...(isFile(STANDARD_OUTPUT) ? { log: resultsTo(STANDARD_OUTPUT) } : {}),
  error: isFile(STANDARD_ERROR)
    ? linesTo(STANDARD_ERROR)
    : linesToReader({
        unread: () => process.stderr.writableLength,
        put: (text) => standard.error("%s", text),
        onRead: (then) => void process.stderr.on("drain", then)
      })
})

/** How long, in milliseconds, a reader of the log that does not read can delay the end of the process. */
const LAST_WORDS_MS = 1_000

/** Calls `then` once all of standard error, with the reason why the process ends, was read, or the reader's time is over. */
const afterErrors = (then: () => void): void => {
  if (process.stderr.writableLength === 0) return then()
  let isOver = false
  const end = () => {
    if (!isOver) then()
    isOver = true
  }
  setTimeout(end, LAST_WORDS_MS)
  process.stderr.on("error", end)
  // The count of lost lines may be written once the rest was read.
  const wait = () => void process.stderr.write("", (error) => (error || process.stderr.writableLength === 0 ? end() : wait()))
  wait()
}

/** From then on the process keeps serving even if its standard output accepts nothing. */
const surviveFullOutput = (): void => void process.stdout.on("error", () => undefined)

export const StandardStreams = {
  afterErrors,
  areResultsLost: () => results.areLost,
  consoleOf,
  linesTo,
  linesToReader,
  resultsTo,
  surviveFullOutput
}

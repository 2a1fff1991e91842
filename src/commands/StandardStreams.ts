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

/** So much waits for a reader that does not read. Lines beyond it are lost, so that they do not fill the memory of the process. */
const UNREAD_BYTES = 4 * 1024 * 1024

/** A pipe or a terminal is written by Node, which keeps what its reader has not taken. As with a file, what is lost is counted. */
const linesToReader = (unreadBytes: () => number, put: (text: string) => void) => {
  let lost = 0
  return (...parts: ReadonlyArray<unknown>): void => {
    const text = format(...parts)
    if (unreadBytes() > UNREAD_BYTES) {
      lost += text.split("\n").length
      return
    }
    if (lost > 0) put(JSON.stringify({ ...lostLines, annotations: { lines: lost } }))
    lost = 0
    put(text)
  }
}

const lostLines = { level: "error", message: "the log could not be written for a while, and what it said is lost" }

/** That console, whose errors are the log. */
const consoleOf = (standard: Console): Console => ({
  ...standard,
  error: isFile(STANDARD_ERROR)
    ? linesTo(STANDARD_ERROR)
    : linesToReader(
        () => process.stderr.writableLength,
        (text) => standard.error("%s", text)
      )
})

/** From then on a process serves although its standard output takes nothing. */
const surviveFullOutput = (): void => void process.stdout.on("error", () => undefined)

export const StandardStreams = { consoleOf, linesTo, linesToReader, surviveFullOutput }

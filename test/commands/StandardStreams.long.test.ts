import { spawn } from "node:child_process"
import { once } from "node:events"
import { openSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { describe, expect, it } from "vitest"
import { StandardStreams } from "../../src/commands/StandardStreams.ts"
import { itWith } from "../support/Installed.ts"

const MAIN = join(import.meta.dirname, "..", "..", "src", "gateway.js")
const COMMANDS = join(import.meta.dirname, "..", "..", "src", "commands")
const WRONG_USAGE = 2

/** The exit code of a command that says on standard error what is wrong with it. */
const ended = (standardError: number): Promise<number | null> =>
  new Promise((done) =>
    spawn(process.execPath, [MAIN, "no-such-command"], { stdio: ["ignore", "ignore", standardError] }).once("exit", done)
  )

/** A disk with room for so many bytes, which takes what fits of a write, as a file does. */
const disk = (bytes: number) => {
  let room = bytes
  let written = ""
  const write = (_: number, bytes: Buffer): number => {
    const text = bytes.toString()
    const fitting = text.slice(0, room)
    if (fitting === "") throw new Error("ENOSPC: no space left on device, write")
    written += fitting
    room -= fitting.length
    return fitting.length
  }
  return { write, grow: (more: number) => void (room += more), written: () => written }
}

describe("the log on a disk that is full", () => {
  it("is lost and counted, and goes on with the count once there is room", () => {
    const { grow, write, written } = disk(15)
    const line = StandardStreams.linesTo(2, write)
    line("the first")
    line("the second")
    line("the third\nand its cause")
    grow(1_000)
    line("the fourth")
    line("the %s", "fifth")
    expect(written().split("\n")).toEqual([
      "the first",
      "the s",
      `{"level":"error","message":"the log could not be written for a while, and what it said is lost","annotations":{"lines":3}}`,
      "the fourth",
      "the fifth",
      ""
    ])
  })

  itWith(
    "test",
    "-c",
    "/dev/full"
  )("ends no process otherwise than it would have ended", async () => {
    expect(await ended(openSync("/dev/null", "w"))).toBe(WRONG_USAGE)
    expect(await ended(openSync("/dev/full", "w"))).toBe(WRONG_USAGE)
  })
})

describe("a result that a full disk does not take", () => {
  itWith(
    "test",
    "-c",
    "/dev/full"
  )("is no success: a new key's secrets may have been in it", async () => {
    const child = spawn(process.execPath, [MAIN, "--version"], { stdio: ["ignore", openSync("/dev/full", "w"), "pipe"] })
    const ended = once(child, "exit")
    const errors = child.stderr === null ? "" : await text(child.stderr)
    expect([...(await ended), errors]).toEqual([
      1,
      null,
      expect.stringContaining("standard output did not take the whole result")
    ])
  })

  it("is known as lost where only its beginning fits", () => {
    const { write, written } = disk(10)
    StandardStreams.resultsTo(1, write)("R1,successful,1000")
    expect([written(), StandardStreams.areResultsLost()]).toEqual(["R1,success", true])
  })
})

const lost = (lines: number): string =>
  `{"level":"error","message":"the log could not be written for a while, and what it said is lost","annotations":{"lines":${lines}}}`

const read = () => {
  const written: Array<string> = []
  const reader = { unread: 0, takeAll: (): void => undefined }
  const line = StandardStreams.linesToReader({
    unread: () => reader.unread,
    put: (text) => written.push(text),
    onRead: (then) => void (reader.takeAll = then)
  })
  return { line, reader, written }
}

/** A process that ends right after it logged so many lines of a kilobyte and why it ends; nobody reads it yet. */
const endingAfter = (lines: number) => {
  const [streams, program] = ["StandardStreams.ts", "Program.ts"].map((file) => JSON.stringify(join(COMMANDS, file)))
  const words = `import { Exit } from "effect"
    import { StandardStreams } from ${streams}
    import { teardown } from ${program}
    const console = StandardStreams.consoleOf(globalThis.console)
    for (let line = 0; line < ${lines}; line++) console.error("x".repeat(1023))
    console.error("why it ends")
    teardown(Exit.succeed(1), (code) => process.exit(code))`
  return spawn(process.execPath, ["--input-type=module", "-e", words], { stdio: ["ignore", "ignore", "pipe"] })
}

/** What a process keeps in memory of so many megabytes that it logs to a pipe which nobody reads. */
const keptOf = (megabytes: number): Promise<number> =>
  new Promise((done) => {
    const streams = join(import.meta.dirname, "..", "..", "src", "commands", "StandardStreams.ts")
    const words = `import { StandardStreams } from ${JSON.stringify(streams)}
      const console = StandardStreams.consoleOf(globalThis.console)
      for (let line = 0; line < ${megabytes * 1024}; line++) console.error("x".repeat(1023))
      process.stdout.write(String(process.stderr.writableLength), () => process.exit(0))`
    const child = spawn(process.execPath, ["--input-type=module", "-e", words], { stdio: ["ignore", "pipe", "pipe"] })
    let said = ""
    child.stdout.setEncoding("utf8").on("data", (text) => (said += text))
    child.stdout.once("end", () => done(Number(said)))
  })

describe("the log on a pipe that nobody reads", () => {
  it("is lost and counted, and goes on with the count once somebody reads", () => {
    const { line, reader, written } = read()
    line("the first")
    reader.unread = 64 * 1024 * 1024
    line("the second")
    line("the third\nand its cause")
    reader.unread = 0
    line("the %s", "fourth")
    expect(written).toEqual(["the first", lost(3), "the fourth"])
  })

  it("says how much was lost as soon as all was read, even where nothing follows", () => {
    const { line, reader, written } = read()
    reader.unread = 64 * 1024 * 1024
    line("the first")
    reader.unread = 0
    reader.takeAll()
    reader.takeAll()
    expect(written).toEqual([lost(1)])
  })

  it("does not fill the memory of the process that writes it", async () => {
    const kept = await keptOf(16)
    expect(kept).toBeGreaterThan(1024 * 1024)
    expect(kept).toBeLessThan(6 * 1024 * 1024)
  })

  it("is read to its end by a slow reader, with the reason of the end", async () => {
    let text = ""
    const process = endingAfter(2_000)
    process.stderr.setEncoding("utf8").on("data", (part) => (text += part))
    const [code] = await once(process, "close")
    expect([code, text.trimEnd().split("\n").length, text.endsWith("why it ends\n")]).toEqual([1, 2_001, true])
  })

  it("keeps no process from its end", async () => {
    expect(await once(endingAfter(2_000), "exit")).toEqual([1, null])
  })
})

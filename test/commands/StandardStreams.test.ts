import { spawn } from "node:child_process"
import { openSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { StandardStreams } from "../../src/commands/StandardStreams.ts"
import { itWith } from "../support/Installed.ts"

const MAIN = join(import.meta.dirname, "..", "..", "src", "gateway.js")
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
    const written: Array<string> = []
    let unread = 0
    const line = StandardStreams.linesToReader(
      () => unread,
      (text) => written.push(text)
    )
    line("the first")
    unread = 64 * 1024 * 1024
    line("the second")
    line("the third\nand its cause")
    unread = 0
    line("the %s", "fourth")
    expect(written).toEqual([
      "the first",
      `{"level":"error","message":"the log could not be written for a while, and what it said is lost","annotations":{"lines":3}}`,
      "the fourth"
    ])
  })

  it("does not fill the memory of the process that writes it", async () => {
    const kept = await keptOf(16)
    expect(kept).toBeGreaterThan(1024 * 1024)
    expect(kept).toBeLessThan(6 * 1024 * 1024)
  })
})

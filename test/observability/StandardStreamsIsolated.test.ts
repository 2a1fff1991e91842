import { spawn } from "node:child_process"
import { existsSync, openSync } from "node:fs"
import { join } from "node:path"
import { Writable } from "node:stream"
import { describe, expect, it } from "vitest"
import { StandardStreams } from "../../src/observability/StandardStreams.ts"

const FULL = "/dev/full"

describe("standard error on a disk that is full", () => {
  it("loses what cannot be written, counts it, and writes again once there is room", () => {
    const written: Array<string> = []
    let isFull = true
    const stream = new Writable({
      decodeStrings: false,
      write: (chunk, _, done) => {
        if (isFull) return done(new Error("ENOSPC: no space left on device, write"))
        written.push(String(chunk))
        done()
      }
    })
    StandardStreams.surviveFullDisk(stream)
    stream.write("one")
    stream.write("two")
    expect(StandardStreams.takeLost()).toBe(0)
    isFull = false
    stream.write("three")
    expect(written).toEqual(["three"])
    expect(StandardStreams.takeLost()).toBe(2)
    expect(StandardStreams.takeLost()).toBe(0)
  })

  it.skipIf(!existsSync(FULL))("ends no process that goes on writing to it", async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, "support", "WritesOn.ts")], {
      stdio: ["ignore", "pipe", openSync(FULL, "w")]
    })
    let said = ""
    child.stdout?.on("data", (chunk) => {
      said += String(chunk)
    })
    const code = await new Promise((ended) => child.once("close", ended))
    expect({ code, said }).toEqual({ code: 0, said: "still there\n" })
  })
})

import { spawn } from "node:child_process"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { expect, it } from "vitest"

const LENGTH = 3_000_000
const PROGRAM = pathToFileURL(join(import.meta.dirname, "..", "..", "src", "commands", "Program.ts")).href

const refusing = `
const { teardown } = await import(${JSON.stringify(PROGRAM)})
const { Exit } = await import("effect")
process.stdout.write("x".repeat(${LENGTH}))
teardown(Exit.succeed(1), (code) => process.exit(code))`

it("a command that exits 1 writes its whole answer, however slowly it is read", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", refusing], { stdio: ["ignore", "pipe", "inherit"] })
  let length = 0
  const code = await new Promise((ended) => {
    child.once("close", ended)
    child.stdout.on("data", (chunk: Buffer) => {
      length += chunk.length
    })
  })
  expect([length, code]).toEqual([LENGTH, 1])
})

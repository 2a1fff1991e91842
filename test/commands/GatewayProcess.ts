import { type ChildProcess, spawn } from "node:child_process"
import { resolve } from "node:path"

const MAIN = resolve(import.meta.dirname, "../../src/gateway.js")

export interface Running {
  readonly child: ChildProcess
  /** Its first whole line on standard output; fails with what it said when it ends before. */
  readonly firstLine: Promise<string>
  readonly ended: Promise<{ readonly code: number | null; readonly errors: string }>
}

/** One program of the command line, under the same runtime as this test. */
export const run = (dataDir: string, args: ReadonlyArray<string>, more: NodeJS.ProcessEnv = {}): Running => {
  const free = { PORT: "0", MANAGEMENT_PORT: "0", SIMULATOR_PORT: "0", CONSOLE_PORT: "0", KEEP_ALIVE_DRAIN: "0s" }
  const { HOME, NODE_COMPILE_CACHE, PATH } = process.env
  const env = { PATH, HOME, NODE_COMPILE_CACHE, DATA_DIR: dataDir, LOG_LEVEL: "warn", ...free, ...more }
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "pipe", "pipe"] })
  let output = ""
  let errors = ""
  child.stderr.on("data", (chunk) => {
    errors += chunk
  })
  const ended = new Promise<{ code: number | null; errors: string }>((done) =>
    child.once("close", (code) => done({ code, errors }))
  )
  const firstLine = new Promise<string>((done, failed) => {
    child.stdout.on("data", (chunk) => {
      output += chunk
      const end = output.indexOf("\n")
      if (end >= 0) done(output.slice(0, end))
    })
    child.once("close", (code, signal) => failed(new Error(`${args.join(" ")} ended with ${code ?? signal}: ${errors}`)))
  })
  firstLine.catch(() => undefined)
  return { child, firstLine, ended }
}

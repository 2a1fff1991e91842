import { type ChildProcess, fork } from "node:child_process"
import { openSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { cpuSeconds } from "../Processes.ts"

const MAIN = resolve(import.meta.dirname, "..", "..", "src", "gateway.js")
/** As `npm start` and the image start it. */
export const RUNTIME: ReadonlyArray<string> = ["--max-semi-space-size=16", "--heap-growing-percent=100"]
const POLL_MS = 20
const UP_WITHIN_MS = 60_000

export type Variables = Readonly<Record<string, string>>

/** A process of the run: it ends with us, whatever ends us, because its channel does. */
export interface Child {
  readonly process: ChildProcess
  readonly pid: number
  readonly stop: () => Promise<void>
}

/** How long a program took until it was ready, and how much of that it computed. */
export interface Readiness {
  readonly readyMs: number
  readonly readyCpuSeconds: number
}

/** One of the benchmark's own programs; answers with its first message. */
export const program = async (
  file: string,
  variables: Variables = {},
  /** Where its standard output goes, and Node's own options. */
  { log, node = [] }: { readonly log?: string; readonly node?: ReadonlyArray<string> } = {}
): Promise<{ readonly child: Child; readonly first: unknown }> => {
  const forked = fork(resolve(import.meta.dirname, file), {
    env: { PATH: process.env["PATH"], ...variables },
    execArgv: [...node],
    stdio: ["ignore", log === undefined ? "ignore" : openSync(log, "a"), "inherit", "ipc"]
  })
  const first = await new Promise<unknown>((heard, failed) => {
    forked.once("message", heard)
    forked.once("exit", (code) => failed(new Error(`${file} ended with ${code}`)))
  })
  return { child: childOf(forked), first }
}

/** The program itself, as an operator starts it, until it is ready. Its log goes to a file. */
export const gateway = async (
  args: ReadonlyArray<string>,
  variables: Variables,
  {
    log,
    managementPort,
    node = []
  }: { readonly log: string; readonly managementPort: number; readonly node?: ReadonlyArray<string> }
): Promise<Child & Readiness> => {
  const file = openSync(log, "a")
  const startedAt = performance.now()
  const forked = fork(MAIN, [...args], {
    env: { PATH: process.env["PATH"], ...variables },
    execArgv: [...RUNTIME, ...node],
    stdio: ["ignore", file, file, "ipc"]
  })
  const child = childOf(forked)
  while (performance.now() - startedAt < UP_WITHIN_MS) {
    if (forked.exitCode !== null) throw new Error(`the gateway ended: ${readFileSync(log, "utf8").slice(-2000)}`)
    if (await answers(`http://127.0.0.1:${managementPort}/readyz`))
      return { ...child, readyMs: performance.now() - startedAt, readyCpuSeconds: cpuSeconds(child.pid) }
    await pause(POLL_MS)
  }
  await child.stop()
  throw new Error(`the gateway is not ready: ${readFileSync(log, "utf8").slice(-2000)}`)
}

const answers = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    async (response) => {
      await response.arrayBuffer()
      return response.ok
    },
    () => false
  )

const childOf = (forked: ChildProcess): Child => {
  const gone = new Promise<void>((ended) => forked.once("exit", () => ended()))
  const end = (): void => void forked.kill("SIGTERM")
  process.once("exit", end)
  const child: Child = {
    process: forked,
    pid: forked.pid ?? 0,
    stop: async () => {
      process.off("exit", end)
      if (forked.exitCode !== null || forked.signalCode !== null) return
      forked.kill("SIGTERM")
      const late = setTimeout(() => forked.kill("SIGKILL"), 15_000)
      await gone
      clearTimeout(late)
    }
  }
  running.add(child)
  forked.once("exit", () => running.delete(child))
  return child
}

const running = new Set<Child>()

/** Ends what a part that failed has left behind: the parts after it need the machine. */
export const stopAll = async (): Promise<void> => void (await Promise.all([...running].map((child) => child.stop())))

import { spawn } from "node:child_process"
import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { Effect } from "effect"
import { EmbeddedPostgres } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import { freePorts } from "../../test/support/FreePort.ts"
import { median, type Part } from "../Report.ts"

const ROOT = resolve(import.meta.dirname, "..", "..")
const LIMIT_SECONDS = 3
const LEAST_STARTS = 3
const READY_WITHIN_MS = 60_000
const POLL_MS = 10
const STOP_WITHIN_MS = 20_000
/** Of what it said, in characters. */
const SAID_AT_MOST = 2_000

/** `npm start` on a data folder that is there: npm, gateway, PostgreSQL and simulator, until the gateway says that it is ready. */
export const part: Part = {
  name: "start",
  against: `${LIMIT_SECONDS} s`,
  target: 1,
  atMost: true,
  run: async (_cluster, { rounds }) => {
    const dataDir = mkdtempSync(join(tmpdir(), "payment-gateway-bench-"))
    chmodSync(dataDir, 0o711)
    try {
      const first = await started(dataDir)
      const seconds: Array<number> = []
      for (let round = 0; round < Math.max(rounds, LEAST_STARTS); round++) seconds.push(await started(dataDir))
      const ours = median(seconds)
      return { ours, theirs: LIMIT_SECONDS, ratio: ours / LIMIT_SECONDS, unit: "s", details: { first, seconds } }
    } finally {
      await Effect.runPromise(Effect.ignore(EmbeddedPostgres.stop(dataDir)))
      rmSync(dataDir, { recursive: true, force: true })
    }
  }
}

/** Seconds from the command to ready; everything is stopped again. */
const started = async (dataDir: string): Promise<number> => {
  const [port = 0, managementPort = 0, simulatorPort = 0] = await freePorts(3)
  const variables = {
    DATA_DIR: dataDir,
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    SIMULATOR_PORT: String(simulatorPort)
  }
  const log = join(dataDir, "npm-start.log")
  const output = openSync(log, "w")
  const startedAt = performance.now()
  const npm = spawn("npm", ["start", "--silent"], {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], HOME: dataDir, ...variables },
    stdio: ["ignore", output, output],
    detached: true
  })
  closeSync(output)
  const gone = new Promise<void>((ended) => npm.once("exit", () => ended()))
  try {
    while (!(await isReady(managementPort))) {
      if (npm.exitCode !== null || performance.now() - startedAt > READY_WITHIN_MS) throw notReady(npm.exitCode, log)
      await pause(POLL_MS)
    }
    return (performance.now() - startedAt) / 1000
  } finally {
    const end = (signal: NodeJS.Signals) => npm.pid !== undefined && npm.exitCode === null && process.kill(-npm.pid, signal)
    end("SIGINT")
    const late = setTimeout(() => end("SIGKILL"), STOP_WITHIN_MS)
    await gone
    clearTimeout(late)
  }
}

/** Says why: npm ended, or it took too long, and the last of what it said. */
const notReady = (exitCode: number | null, log: string) => {
  const why = exitCode === null ? `within ${READY_WITHIN_MS / 1000} s` : `and ended with ${exitCode}`
  return new Error(`npm start did not get ready ${why}:\n${readFileSync(log, "utf8").slice(-SAID_AT_MOST)}`)
}

const isReady = (managementPort: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${managementPort}/readyz`, { signal: AbortSignal.timeout(1000) }).then(
    ({ ok }) => ok,
    () => false
  )

import { spawnSync } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"

const LOCK = join(import.meta.dirname, "../../clients/cli/src/RunLock.ts")
/** What a process of its own says of an expression. */
export const answerOf = (expression: string, variables: Readonly<Record<string, string>> = {}): string => {
  const script = `import * as lock from ${JSON.stringify(LOCK)}; console.log(${expression})`
  const options = { env: { ...process.env, ...variables }, encoding: "utf8" } as const
  return spawnSync(process.execPath, ["--input-type=module", "-e", script], options).stdout.trim()
}

/** What a process that was killed since has left in its lock. */
export const lockOfDead = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "payment-gateway-run-"))
  answerOf(`await lock.takeLock(${JSON.stringify(join(folder, "lock"))})`)
  const text = await readFile(join(folder, "lock"), "utf8")
  await rm(folder, { recursive: true })
  return text
}

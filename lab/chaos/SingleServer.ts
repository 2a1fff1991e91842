import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { EmbeddedPostgres } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import type { StageDatabase } from "./Stage.ts"

/** The PostgreSQL that the gateway brings along. */
export const singleServer: StageDatabase = async (dataDir, life) => {
  const ensure = () => Effect.runPromise(EmbeddedPostgres.ensureRunning(dataDir))
  life.ends.push(() => Effect.runPromise(EmbeddedPostgres.stop(dataDir)))
  const url = Redacted.value(EmbeddedPostgres.url(await ensure()))
  const pidFile = join(dataDir, "postgres", "postmaster.pid")
  const pid = () => Number(readFileSync(pidFile, "utf8").split("\n")[0])
  const signal = (signal: NodeJS.Signals) => void process.kill(pid(), signal)
  return {
    name: "postgres",
    url,
    signal,
    pid,
    kill: async () => signal("SIGKILL"),
    start: async () => {
      if (life.isOver) return
      const again = Redacted.value(EmbeddedPostgres.url(await ensure()))
      if (again !== url) throw new Error("PostgreSQL came back at another address")
    }
  }
}

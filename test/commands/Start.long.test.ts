import { execFile } from "node:child_process"
import { chmod, mkdtemp, readdir, readFile, stat } from "node:fs/promises"
import { createServer } from "node:net"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { Effect, Option } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { LocalProcess } from "../../src/persistence/postgres/LocalProcess.ts"
import { databaseFolder } from "../support/DatabaseFolder.ts"
import { removeDataDir } from "../support/Postgres.ts"
import { type Running, run } from "./GatewayProcess.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const STORY_MS = 240_000

const started = async ({
  firstLine
}: Running): Promise<{
  url: string
  simulator_url: string
  sign_and_send: string
  login: string
  trigger: string
  tenant: object
  console: { url: string }
}> => JSON.parse(await firstLine)
const remembered = async (dataDir: string, name: string): Promise<number> =>
  JSON.parse(await readFile(join(dataDir, `${name}.json`), "utf8")).pid
const postmaster = async (dataDir: string): Promise<number> => {
  const { cluster } = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8"))
  return Number((await readFile(join(resolve(dataDir, cluster), "postmaster.pid"), "utf8")).split("\n", 1)[0])
}
/** Files of a data folder that another account of the machine could read. */
const readableByOthers = async (dataDir: string): Promise<ReadonlyArray<string>> => {
  const names = await readdir(dataDir, { recursive: true, withFileTypes: true })
  const files = names.filter((name) => name.isFile()).map(({ name, parentPath }) => join(parentPath, name))
  const open = await Promise.all(files.map(async (file) => ((await stat(file)).mode & 0o077) !== 0))
  return files.filter((_, at) => open[at])
}
/** A process that ended and that nobody has collected does not live. */
const lives = async (pid: number): Promise<boolean> => Option.isSome(await Effect.runPromise(LocalProcess.identity(pid)))
const answers = async (url: string): Promise<number> => (await fetch(`${url}/health`)).status

describe("gateway start", () => {
  const folders: Array<string> = []
  const begun: Array<Running> = []
  const folder = async (name = "payment-gateway-start-"): Promise<string> => {
    const made = await mkdtemp(join(databaseFolder(), name))
    await chmod(made, 0o711)
    folders.push(made)
    return made
  }
  const start = (dataDir: string, more: NodeJS.ProcessEnv = {}): Running => {
    const running = run(dataDir, ["start", "--json"], more)
    begun.push(running)
    return running
  }
  afterEach(async () => {
    for (const { child, ended } of begun.splice(0)) {
      child.kill("SIGTERM")
      await ended
    }
    for (const made of folders.splice(0)) await removeDataDir(made)
  })

  it(
    "prints commands that work, adopts the processes that survived a killed gateway, yields to a newer start, and stops everything on request",
    async () => {
      const dataDir = await folder("payment-gateway-it's a start-")
      const first = start(dataDir)
      const { login, sign_and_send, tenant, trigger } = await started(first)
      const others = [await remembered(dataDir, "simulator"), await postmaster(dataDir)]
      expect(await readableByOthers(dataDir)).toEqual([])
      const shell = promisify(execFile)
      const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], DATA_DIR: dataDir, XDG_CONFIG_HOME: dataDir }
      const { stdout } = await shell("sh", ["-c", sign_and_send], { cwd: ROOT, env })
      expect(JSON.parse(stdout).data).toEqual([expect.objectContaining({ currency: "UGX", available_minor: 1_000_000 })])

      await shell("sh", ["-c", login], { cwd: ROOT, env })
      const refused = await shell("sh", ["-c", trigger], { cwd: ROOT, env }).catch((error: { stderr: string }) => error)
      expect(refused.stderr).toMatch(/^payout_rejected_by_provider: /m)

      const status = async () => JSON.parse(await run(dataDir, ["status", "--json"]).firstLine)
      const here = await status()
      expect(here.node_here).toEqual({ address: expect.stringMatching(/^http:/), readyz: "ok", circuits_open: [] })
      expect(here.needs_attention).toEqual(["the ledger was not verified for a day"])

      first.child.kill("SIGKILL")
      await first.ended
      expect(await Promise.all(others.map(lives))).toEqual([true, true])
      const gone = await status()
      expect(gone.node_here).toMatchObject({ readyz: "unreachable", circuits_open: "unreachable" })
      expect(gone.needs_attention[0]).toContain("unreachable")

      // It is in use either way: by this, or by what keeps this from listening.
      const usual = createServer().on("error", () => undefined)
      usual.listen(8082, "127.0.0.1")
      const second = start(dataDir, { CONSOLE_PORT: "" })
      const again = await started(second)
      usual.close()
      expect(again.console.url).toMatch(/^http:\/\/127\.0\.0\.1:(?!8082)\d+$/)
      expect(again.tenant).toEqual(tenant)
      expect([await remembered(dataDir, "simulator"), await postmaster(dataDir)]).toEqual(others)
      expect(await answers(again.url)).toBe(200)

      const newer = start(dataDir)
      const { url } = await started(newer)
      expect((await second.ended).code).toBe(0)
      expect(await answers(url)).toBe(200)
      const last = [await remembered(dataDir, "simulator"), await postmaster(dataDir)]

      newer.child.kill("SIGTERM")
      expect(await newer.ended).toEqual({ code: 0, errors: "" })
      await expect(remembered(dataDir, "management")).rejects.toThrow("ENOENT")
      expect(await Promise.all([...others, ...last].map(lives))).toEqual([false, false, false, false])
    },
    STORY_MS
  )

  it(
    "refuses a port that is in use in one line, and leaves nothing running",
    async () => {
      const dataDir = await folder()
      const taken = createServer().listen(0, "127.0.0.1")
      await new Promise((listening) => taken.once("listening", listening))
      const address = taken.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const { code, errors } = await start(dataDir, { PORT: String(port) }).ended
      taken.close()
      expect(code).toBe(1)
      expect(errors.trim().split("\n")).toEqual([
        `cannot listen on 127.0.0.1:${port} (the address is taken); set HOST or PORT to a free address`
      ])
      await expect(postmaster(dataDir)).rejects.toThrow("ENOENT")
      await expect(remembered(dataDir, "simulator")).rejects.toThrow("ENOENT")
    },
    STORY_MS
  )
})

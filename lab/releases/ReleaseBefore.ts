import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"

const root = resolve(import.meta.dirname, "..", "..")
const MAX_BYTES = 256 * 1024 * 1024

/** The commit of the release that may run beside this program; a release names the one before it here. */
export const commitBefore = readFileSync(join(import.meta.dirname, "RELEASE_BEFORE"), "utf8").trim()

/** A shallow clone, or a copy without git, has not got it. */
export const isReleaseBeforeHere = (() => {
  try {
    execFileSync("git", ["cat-file", "-e", `${commitBefore}^{commit}`], { cwd: root, stdio: "ignore" })
    return true
  } catch {
    return false
  }
})()

export interface Release {
  readonly folder: string
  readonly remove: () => void
}

/** The program as it was, in a folder of its own, with the packages of today. */
export const buildReleaseBefore = (): Release => {
  const folder = mkdtempSync(join(tmpdir(), "payment-gateway-before-"))
  const archive = execFileSync("git", ["archive", commitBefore, "--", ".", ":!test", ":!bench"], {
    cwd: root,
    maxBuffer: MAX_BYTES
  })
  execFileSync("tar", ["-x", "-C", folder], { input: archive })
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** What it does not know of migrations, by their names. */
export const unknownTo = ({ folder }: Release, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.filter((name) => {
    const persistence = join(folder, "src", "persistence")
    const list = join(persistence, "schema", "MigrationList.ts")
    // A release before the list had a file for each.
    return existsSync(list)
      ? !readFileSync(list, "utf8").includes(`"${name}"`)
      : !existsSync(join(persistence, "migrations", `${name}.ts`))
  })

export interface Node {
  readonly url: string
  readonly host: string
  /** Where `/readyz` is. */
  readonly management: string
  readonly child: ChildProcess
  /** The first errors of its log. */
  readonly logged: () => ReadonlyArray<string>
  /** Ends it as a release does, and answers its exit code. */
  readonly stop: () => Promise<number | null>
}

type Variables = Readonly<Record<string, string>>

/** `gateway serve` of a checkout, once it listens. */
export const serveFrom = async (folder: string, variables: Variables): Promise<Node> => {
  const managementPort = variables["MANAGEMENT_PORT"] ?? "0"
  const { child, ended, line, logged } = await started(folder, variables, ["serve"])
  const { url }: { readonly url: string } = JSON.parse(line)
  const stop = () => {
    child.kill("SIGTERM")
    return ended
  }
  return { url, host: new URL(url).host, management: `http://127.0.0.1:${managementPort}`, child, logged, stop }
}

const LOGGED_AT_MOST = 10

/** A program that says in its first line where it is. */
export const started = async (folder: string, variables: Variables, args: ReadonlyArray<string>) => {
  const child = spawnGateway(folder, variables, [...args, "--json"])
  let errors = ""
  const logged: Array<string> = []
  child.stderr?.on("data", (chunk) => {
    errors = `${errors}${chunk}`.slice(-4_000)
  })
  if (child.stderr !== null)
    createInterface({ input: child.stderr }).on("line", (line) => {
      if (line.includes('"level":"error"') && logged.length < LOGGED_AT_MOST) logged.push(line)
    })
  const ended = new Promise<number | null>((done) => child.once("close", done))
  const line = await new Promise<string>((found, failed) => {
    createInterface({ input: child.stdout ?? process.stdin }).once("line", found)
    child.once("close", (code) => failed(new Error(`gateway ${args.join(" ")} ended with ${code}: ${errors}`)))
  })
  return { child, ended, line, logged: () => logged }
}

/** A command of a checkout; what it writes. */
export const commandFrom = async (folder: string, variables: Variables, args: ReadonlyArray<string>): Promise<string> => {
  const child = spawnGateway(folder, variables, [...args, "--json"])
  let output = ""
  child.stdout?.on("data", (chunk) => {
    output += chunk
  })
  await new Promise((done) => child.once("close", done))
  return output
}

const spawnGateway = (folder: string, variables: Variables, args: ReadonlyArray<string>): ChildProcess => {
  const { HOME, NODE_COMPILE_CACHE, PATH } = process.env
  const env = { HOME, PATH, NODE_COMPILE_CACHE, DATA_DIR: join(folder, ".data"), ...variables }
  return spawn(process.execPath, [join(folder, "src", "gateway.js"), ...args], { env, stdio: ["ignore", "pipe", "pipe"] })
}

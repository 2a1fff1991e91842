import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { Effect } from "effect"
import { PostgresInstall } from "../../src/persistence/postgres/PostgresInstall.ts"
import { PostgresServer } from "../../src/persistence/postgres/PostgresServer.ts"
import type { MemberMachine } from "./PostgresMembers.ts"

// HAProxy, nginx and PgBouncer as deploy/ has them, with the addresses of a test.

export interface Proxy {
  readonly port: number
  readonly close: () => Promise<void>
}

/** The program to try; another release than the installed one is named in the environment. */
export const pgbouncer = process.env["PGBOUNCER"] ?? "pgbouncer"
const deploy = resolve(import.meta.dirname, "..", "..", "deploy")
const WITHIN_MS = 10_000

/** Here, or on a host with a network of its own. */
export const startHaproxy = async (
  servers: readonly [number, number],
  host?: NonNullable<MemberMachine["host"]>
): Promise<Proxy> => {
  const port = await Effect.runPromise(PostgresServer.port(0))
  await host?.serve(port)
  const text = readFileSync(join(deploy, "haproxy", "haproxy.cfg"), "utf8")
    .replace("127.0.0.1:5000", `127.0.0.1:${port}`)
    .replace("db-a.internal:5432", `127.0.0.1:${servers[0]}`)
    .replace("db-b.internal:5432", `127.0.0.1:${servers[1]}`)
  const [program, args] = (host?.command ?? here)("haproxy", ["-db", "-f", "haproxy.cfg"])
  // Only the administrator may enter another network.
  return start(program, () => args, { port, files: { "haproxy.cfg": text }, isAsCaller: host !== undefined })
}

const here = (program: string, args: ReadonlyArray<string>) => [program, args] as const

interface Place {
  readonly port: number
  readonly management: number
}

/** Before two processes of the gateway on one machine; without TLS. */
export const startApiHaproxy = async (processes: readonly [Place, Place]): Promise<Proxy> => {
  const port = await Effect.runPromise(PostgresServer.port(0))
  const shipped = (name: string) => readFileSync(join(deploy, "haproxy", name), "utf8")
  const [one, two] = processes
  const machine = shipped("machine.cfg")
    .replace(/bind :443 .*/, `bind 127.0.0.1:${port}`)
    .replace("127.0.0.1:8010 check port 8011", `127.0.0.1:${one.port} check port ${one.management}`)
    .replace("127.0.0.1:8020 check port 8021", `127.0.0.1:${two.port} check port ${two.management}`)
  const files = { "api.cfg": shipped("api.cfg"), "machine.cfg": machine }
  return start("haproxy", () => ["-db", "-f", "api.cfg", "-f", "machine.cfg"], { port, files })
}

/** Debian's package of the module, which other builds of nginx bring with them. */
const STREAM = "/usr/lib/nginx/modules/ngx_stream_module.so"
/** Exits with 0 where nginx is installed with the part that the shipped configuration needs. */
export const nginxIsThere = ["sh", "-c", `nginx -V 2>&1 | grep -qE -- '--with-stream( |$)' || test -e ${STREAM}`] as const

export interface Nginx extends Proxy {
  /** Holds the files of its configuration. */
  readonly folder: string
  readonly reload: ReadonlyArray<string>
}

/** As `startApiHaproxy`; which processes are ready is in `processes.conf`, and nobody asks them. */
export const startApiNginx = async (processes: readonly [Place, Place]): Promise<Nginx> => {
  const [port, inner] = [await Effect.runPromise(PostgresServer.port(0)), await Effect.runPromise(PostgresServer.port(0))]
  const text = readFileSync(join(deploy, "nginx", "nginx.conf"), "utf8")
    .replace(/^include .*modules-enabled.*$/m, existsSync(STREAM) ? `load_module ${STREAM};` : "")
    .replace("/var/log/nginx/error.log", "error.log")
    .replace("/run/nginx.pid", "nginx.pid")
    .replace("/etc/nginx/processes.conf", "processes.conf")
    .replaceAll("127.0.0.1:8009", `127.0.0.1:${inner}`)
    .replace("listen 443 ssl", `listen 127.0.0.1:${port}`)
    .replaceAll(/^ *ssl_certificate.*$/gm, "")
    // Its own account may not write where the package has them.
    .replace(
      "http {",
      `http {\n${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${name};`).join("\n")}`
    )
  const lines = processes.map((one) => `server 127.0.0.1:${one.port} max_fails=1 fail_timeout=2s;`)
  const files = { "nginx.conf": text, "processes.conf": `${lines.join("\n")}\n` }
  const args = (folder: string) => ["-p", folder, "-c", "nginx.conf", "-e", "error.log"]
  const started = await start("nginx", (_, folder) => [...args(folder), "-g", "daemon off;"], { port, files })
  return { ...started, reload: ["nginx", ...args(started.folder), "-s", "reload"] }
}

export interface Pooled {
  readonly server: number
  readonly database: string
  readonly username: string
  readonly password: string
  readonly mode: "session" | "transaction"
}

export const startPgbouncer = async ({ database, mode, password, server, username }: Pooled): Promise<Proxy> => {
  const port = await Effect.runPromise(PostgresServer.port(0))
  const text = readFileSync(join(deploy, "pgbouncer", "pgbouncer.ini"), "utf8")
    .replace(/^gateway = .*$/m, `${database} = host=127.0.0.1 port=${server} dbname=${database}`)
    .replace("listen_port = 6432", `listen_port = ${port}`)
    .replace("/etc/pgbouncer/userlist.txt", "users.txt")
    .replace("pool_mode = transaction", `pool_mode = ${mode}`)
    .replace(mode === "session" ? /^max_prepared_statements.*$/m : "", "")
  const files = { "pgbouncer.ini": text, "users.txt": `"${username}" "${password}"\n` }
  return start(pgbouncer, () => ["pgbouncer.ini"], { port, files })
}

interface Started {
  readonly port: number
  readonly files: Readonly<Record<string, string>>
  /** Whether it runs as who runs the tests, be that root. */
  readonly isAsCaller?: boolean
}

const start = async (
  program: string,
  args: (file: string, folder: string) => ReadonlyArray<string>,
  { files, isAsCaller = false, port }: Started
): Promise<Proxy & { readonly folder: string }> => {
  const folder = mkdtempSync(join(tmpdir(), "payment-gateway-proxy-"))
  chmodSync(folder, 0o755)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  // PgBouncer refuses to run as root, as PostgreSQL does.
  const account = isAsCaller ? undefined : await Effect.runPromise(PostgresInstall.account(folder))
  if (account !== undefined)
    for (const path of ["", ...Object.keys(files)]) chownSync(join(folder, path), account.uid, account.gid)
  const [file = ""] = Object.keys(files)
  const child = spawn(program, args(file, folder), { ...account, cwd: folder, stdio: ["ignore", "ignore", "pipe"] })
  let said = ""
  child.stderr.on("data", (chunk) => {
    said += String(chunk)
  })
  const close = async () => {
    // The workers of nginx outlive a master that is killed.
    await ended(child, program === "nginx" ? "SIGTERM" : "SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  }
  const limit = performance.now() + WITHIN_MS
  while (!(await answers(port))) {
    if (child.exitCode !== null || performance.now() > limit) {
      await close()
      throw new Error(`${program} does not start: ${said}`)
    }
    await pause(20)
  }
  return { port, close, folder }
}

const ended = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const over = new Promise((resolve) => child.once("exit", resolve))
  child.kill(signal)
  await over
}

const answers = (port: number): Promise<boolean> =>
  new Promise((answer) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => {
      socket.destroy()
      answer(true)
    })
    socket.once("error", () => answer(false))
  })

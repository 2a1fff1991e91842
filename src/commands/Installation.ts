import { createHash, randomBytes } from "node:crypto"
import { link, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import * as App from "../App.ts"
import { CommandRefusal } from "./CommandRefusal.ts"

const MASTER_KEY_BYTES = 32
const ROOT = resolve(import.meta.dirname, "..", "..")

const Manifest = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))

/** The installation on this machine: the data folder, its secrets and its database, and the program itself. */
export const Installation = {
  /** Settings with the database for one command: the running embedded one, or one that is started and stopped with it. */
  forOneCommand: Effect.gen(function* () {
    const given = yield* App.settings
    const { databaseUrl, dataDir } = given
    if (databaseUrl !== null) return yield* withMasterKey(given, { databaseUrl, ownerUrl: null, databaseFolder: null })
    // An embedded database is for development only. The delivering gateway checks again whether it may use a loopback receiver.
    const settings = { ...given, policy: { ...given.policy, webhookAllowLoopback: true } }
    const running = yield* App.embeddedPostgres.running(dataDir)
    if (Option.isSome(running)) return yield* onEmbedded(settings, running.value)
    const started = yield* App.embeddedPostgres.ensureRunning(dataDir)
    if (started.startedByUs) yield* Effect.addFinalizer(() => Effect.orDie(App.embeddedPostgres.stop(dataDir)))
    return yield* onEmbedded(settings, started)
  }),

  /** Settings with the database for a gateway: an embedded one is restarted whenever it ends, and stopped with the scope. */
  forServer: Effect.gen(function* () {
    const settings = yield* App.settings
    const { databaseUrl, dataDir } = settings
    if (databaseUrl !== null) return yield* withMasterKey(settings, { databaseUrl, ownerUrl: null, databaseFolder: null })
    yield* Effect.addFinalizer(() => Effect.orDie(App.embeddedPostgres.stop(dataDir)))
    const database = yield* App.embeddedPostgres.ensureRunning(dataDir)
    yield* Effect.forkScoped(App.embeddedPostgres.keepRunning(dataDir))
    return yield* onEmbedded(settings, database)
  }),

  release: Effect.suspend(() => release),

  /** The release is set by hand; the version changes with every byte of the source and of the lock file. */
  build: Effect.gen(function* () {
    const version = yield* release
    const files = yield* Effect.promise(() => readdir(join(ROOT, "src"), { recursive: true }))
    const sources = files.filter((file) => /\.[jt]s$/.test(file)).sort()
    const hash = createHash("sha256")
    for (const file of [...sources.map((source) => join("src", source)), "package-lock.json"]) {
      hash.update(`${file}\0`).update(yield* read(file))
    }
    return { release: version, version: `${version}+${hash.digest("hex").slice(0, 12)}` }
  })
}

/** The ports of operators' commands: every port on the database, but neither providers nor workers. */
export const operatorPorts = Layer.unwrap(Effect.map(Installation.forOneCommand, App.ports)).pipe(Layer.provideMerge(App.logs))

const read = (file: string): Effect.Effect<string> => Effect.promise(() => readFile(join(ROOT, file), "utf8"))

const release = Effect.suspend(() => read("package.json")).pipe(
  Effect.flatMap(Schema.decodeEffect(Manifest)),
  Effect.map(({ version }) => version),
  Effect.orDie
)

/** The database's owner migrates it; everything else runs as a role that owns nothing. */
const onEmbedded = (settings: App.Settings, database: App.EmbeddedDatabase) =>
  withMasterKey(settings, {
    databaseUrl: App.embeddedPostgres.runtimeUrl(database),
    ownerUrl: App.embeddedPostgres.url(database),
    databaseFolder: database.folder
  })

const withMasterKey = Effect.fnUntraced(function* (
  settings: App.Settings,
  database: Pick<App.ReadySettings, "databaseUrl" | "ownerUrl" | "databaseFolder">
) {
  return { ...settings, ...database, masterKey: settings.masterKey ?? (yield* ownMasterKey(settings.dataDir)) }
})

/** A random key that is created once and readable only by its owner. */
const ownMasterKey = Effect.fnUntraced(function* (dataDir: string) {
  const file = join(dataDir, "master.key")
  return yield* Effect.tryPromise({
    try: async () => {
      await mkdir(dataDir, { recursive: true, mode: 0o711 })
      const draft = `${file}.${randomBytes(6).toString("hex")}`
      await writeFile(draft, randomBytes(MASTER_KEY_BYTES).toString("base64"), { flag: "wx", mode: 0o600 })
      // A hard link is created completely or not at all, and never replaces an existing key.
      await link(draft, file).catch((cause) => (cause.code === "EEXIST" ? undefined : Promise.reject(cause)))
      await rm(draft)
      return Redacted.make((await readFile(file, "utf8")).trim())
    },
    catch: (cause) => new CommandRefusal(`cannot keep the master key in ${file}: ${String(cause)}`)
  })
})

/** Refuses a command that creates a tenant with unbacked float where anything is real, before anything is read or started. */
export const onlyForDevelopment =
  (command: string) =>
  <A, E, R>(run: Effect.Effect<A, E, R>): Effect.Effect<A, E | CommandRefusal, R> =>
    Effect.gen(function* () {
      const parts = yield* App.realParts
      if (parts.length === 0) return yield* run
      return yield* new CommandRefusal(
        `gateway ${command} is for development and makes a tenant with unbacked float, but ${parts.join(", ")} is set: run gateway serve, or unset it`
      )
    })

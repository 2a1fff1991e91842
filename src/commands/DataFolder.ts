import { randomBytes } from "node:crypto"
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { Effect, Option, Schema } from "effect"
import { localProcess } from "../App.ts"
import { CommandRefusal } from "./CommandRefusal.ts"

/** A process of a data folder, recorded in a file, with its address. */
const ProcessRecord = Schema.Struct({
  pid: Schema.Int,
  /** Distinguishes it from a later process with the same process id. */
  identity: Schema.String,
  url: Schema.String
})
export type ProcessRecord = typeof ProcessRecord.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(ProcessRecord))

const POLL = "50 millis"

/** Files that only their owner may read, replaced atomically. */
export const DataFolder = {
  /** None when there is no such file. */
  read: (file: string): Effect.Effect<Option.Option<string>> => Effect.option(Effect.tryPromise(() => readFile(file, "utf8"))),

  write: (file: string, text: string): Effect.Effect<void, CommandRefusal> =>
    Effect.tryPromise({
      try: async () => {
        const draft = `${file}.${randomBytes(6).toString("hex")}`
        try {
          await writeFile(draft, text, { mode: 0o600, flag: "wx" })
          await rename(draft, file)
        } finally {
          await rm(draft, { force: true })
        }
      },
      catch: (cause) => new CommandRefusal(`cannot write ${file}: ${String(cause)}`)
    }),

  /** Everybody may pass through it, because PostgreSQL's account has to reach its own folder inside. */
  make: (path: string): Effect.Effect<void, CommandRefusal> =>
    Effect.tryPromise({
      try: () => mkdir(path, { recursive: true, mode: 0o711 }),
      catch: (cause) => new CommandRefusal(`cannot make the folder ${path}: ${String(cause)}`)
    }),

  remove: (file: string): Effect.Effect<void> => Effect.promise(() => rm(file, { force: true })),

  writeProcess: Effect.fnUntraced(function* (file: string, url: string): Effect.fn.Return<void, CommandRefusal> {
    const identity = Option.getOrElse(yield* localProcess.identity(process.pid), () => "")
    yield* DataFolder.write(file, JSON.stringify({ pid: process.pid, identity, url }))
  }),

  /** Removes the record of this process, but not that of a process recorded since. */
  removeOwnProcess: Effect.fnUntraced(function* (file: string): Effect.fn.Return<void> {
    const found = yield* DataFolder.findProcess(file)
    if (Option.exists(found, ({ pid }) => pid === process.pid)) yield* DataFolder.remove(file)
  }),

  /** The recorded process, if it is still alive. */
  findProcess: Effect.fnUntraced(function* (file: string): Effect.fn.Return<Option.Option<ProcessRecord>> {
    const found = Option.flatMap(yield* DataFolder.read(file), decode)
    return Option.isSome(found) && (yield* isAlive(found.value)) ? found : Option.none()
  }),

  /** Sends a process SIGTERM, waits, and kills it if it has not ended by then. */
  endProcess: Effect.fnUntraced(function* (remembered: ProcessRecord, waitMs: number) {
    yield* signal(remembered.pid, "SIGTERM")
    const gone = yield* until(
      Effect.map(isAlive(remembered), (lives) => !lives),
      waitMs
    )
    if (gone) return
    yield* signal(remembered.pid, "SIGKILL")
    yield* until(
      Effect.map(isAlive(remembered), (lives) => !lives),
      waitMs
    )
  })
}

/** Polls until the answer is true; false when the time is over. */
export const until = (question: Effect.Effect<boolean>, waitMs: number): Effect.Effect<boolean> =>
  Effect.suspend(() => question).pipe(
    Effect.flatMap((answer) =>
      answer ? Effect.void : Effect.flatMap(Effect.sleep(POLL), () => Effect.fail("not yet" as const))
    ),
    Effect.eventually,
    Effect.as(true),
    Effect.timeoutOrElse({ duration: waitMs, orElse: () => Effect.succeed(false) })
  )

const isAlive = ({ identity, pid }: ProcessRecord): Effect.Effect<boolean> =>
  Effect.map(localProcess.identity(pid), (now) => Option.isSome(now) && now.value === identity)

/** If the process has already ended, that is what was wanted. */
const signal = (pid: number, name: "SIGTERM" | "SIGKILL"): Effect.Effect<void> =>
  Effect.sync(() => {
    try {
      process.kill(pid, name)
    } catch (cause) {
      if (!(cause instanceof Error && "code" in cause && cause.code === "ESRCH")) throw cause
    }
  })

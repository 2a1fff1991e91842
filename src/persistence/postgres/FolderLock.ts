import { randomBytes } from "node:crypto"
import { link, readFile, rename, rm, writeFile } from "node:fs/promises"
import { Effect, Option } from "effect"
import { EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"
import { LocalProcess } from "./LocalProcess.ts"

const POLL_MILLIS = 100
const MAX_POLLS = 1_200

/** Runs `use` while no other process has the lock file. A dead one's lock is taken over. Waits two minutes for a live one. */
export const withFolderLock = (file: string) =>
  Effect.fnUntraced(function* <A>(use: Effect.Effect<A, EmbeddedPostgresError>): Effect.fn.Return<A, EmbeddedPostgresError> {
    for (let poll = 0; poll < MAX_POLLS; poll++) {
      const done = yield* Effect.acquireUseRelease(
        takeLock(file),
        (taken) => (taken ? Effect.asSome(use) : Effect.succeedNone),
        (taken) => (taken ? EmbeddedPostgresError.attempt(`free ${file}`, () => rm(file, { force: true })) : Effect.void)
      )
      if (Option.isSome(done)) return done.value
      yield* dropIfStale(file)
      yield* Effect.sleep(POLL_MILLIS)
    }
    return yield* new EmbeddedPostgresError(`another process holds ${file} and does not finish`)
  })

/** The file appears with its content or not at all: link(2), as O_EXCL, fails when the name exists, but after the write. */
const takeLock = Effect.fnUntraced(function* (file: string) {
  const own = yield* LocalProcess.identity(process.pid)
  const draft = `${file}.${randomBytes(6).toString("hex")}`
  return yield* EmbeddedPostgresError.attempt(`lock ${file}`, async () => {
    try {
      await writeFile(draft, `${process.pid}\n${Option.getOrElse(own, () => "")}`, { flag: "wx", mode: 0o600 })
      await link(draft, file)
      return true
    } catch (cause) {
      if (isCode(cause, "EEXIST")) return false
      throw cause
    } finally {
      await rm(draft, { force: true })
    }
  })
})

const dropIfStale = Effect.fnUntraced(function* (file: string) {
  const seen = yield* readLock(file)
  if (seen === undefined) return
  const [pid, identity] = seen.split("\n")
  const living = yield* LocalProcess.identity(Number(pid))
  if (Option.isSome(living) && living.value === identity) return
  yield* EmbeddedPostgresError.attempt(`take over ${file}`, async () => {
    const aside = `${file}.stale.${randomBytes(6).toString("hex")}`
    await rename(file, aside).catch(ignoreAbsent)
    // Another waiter may have taken the lock over between our read and our rename: its new lock is put back.
    const moved = await readFile(aside, "utf8").catch(ignoreAbsent)
    if (moved !== undefined && moved !== seen) await link(aside, file)
    await rm(aside, { force: true })
  })
})

const readLock = (file: string) => EmbeddedPostgresError.attempt(`read ${file}`, () => readFile(file, "utf8").catch(ignoreAbsent))

const ignoreAbsent = (cause: unknown): undefined => {
  if (!isCode(cause, "ENOENT")) throw cause
}

const isCode = (cause: unknown, code: string): boolean => cause instanceof Error && "code" in cause && cause.code === code

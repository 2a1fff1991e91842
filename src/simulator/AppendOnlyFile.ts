import { type FileHandle, mkdir, open, readFile, truncate } from "node:fs/promises"
import { dirname } from "node:path"
import { Cause, Deferred, Effect, Queue, type Scope } from "effect"

export interface AppendOnlyFile {
  /** The lines that were there at the start. */
  readonly lines: ReadonlyArray<string>
  /** Returns once the line is on disk or, without `synced`, once written. Lines that arrive together are written together. */
  readonly append: (line: string) => Effect.Effect<void>
  /** Returns once everything appended before it is on disk. */
  readonly settled: Effect.Effect<void>
}

interface Entry {
  readonly line: string
  readonly written: Deferred.Deferred<void>
}

const NEWLINE = 10
/** It contains people's whole numbers and the bodies of requests, so only its owner may read it. */
const PRIVATE_FILE = 0o600
const PRIVATE_FOLDER = 0o700

/** A process that is killed in the middle of a write leaves an incomplete last line, which is cut off. */
export const openAppendOnlyFile = Effect.fn("openAppendOnlyFile")(function* (
  path: string,
  synced: boolean
): Effect.fn.Return<AppendOnlyFile, never, Scope.Scope> {
  const lines = yield* Effect.promise(() => readWholeLines(path))
  const file = yield* Effect.acquireRelease(
    Effect.promise(() => open(path, "a", PRIVATE_FILE)),
    (handle) => Effect.promise(() => handle.close())
  )
  const queue = yield* Queue.unbounded<Entry>()
  let last: Deferred.Deferred<void> | undefined

  yield* Queue.takeAll(queue).pipe(
    Effect.flatMap((entries) => write(file, entries, synced)),
    Effect.forever,
    Effect.forkScoped
  )

  const append = Effect.fnUntraced(function* (line: string) {
    const written = Deferred.makeUnsafe<void>()
    last = written
    Queue.offerUnsafe(queue, { line, written })
    yield* Deferred.await(written)
  })
  const settled = Effect.suspend(() => (last === undefined ? Effect.void : Deferred.await(last)))
  return { lines, append, settled }
})

const write = Effect.fnUntraced(function* (file: FileHandle, entries: ReadonlyArray<Entry>, synced: boolean) {
  const text = entries.map(({ line }) => `${line}\n`).join("")
  yield* Effect.tryPromise(async () => {
    await file.appendFile(text)
    if (synced) await file.datasync()
  }).pipe(
    Effect.tapError((error) =>
      Effect.logError("the simulator cannot write to its file: it stops answering calls", Cause.fail(error.cause))
    ),
    Effect.catchTag("UnknownError", (error) => Effect.die(error))
  )
  for (const { written } of entries) yield* Deferred.succeed(written, undefined)
}, Effect.uninterruptible)

async function readWholeLines(path: string): Promise<ReadonlyArray<string>> {
  await mkdir(dirname(path), { recursive: true, mode: PRIVATE_FOLDER })
  const created = await open(path, "a", PRIVATE_FILE)
  // A file from an older program may be readable by others.
  await created.chmod(PRIVATE_FILE)
  await created.close()
  const bytes = await readFile(path)
  const end = bytes.lastIndexOf(NEWLINE) + 1
  if (end < bytes.length) await truncate(path, end)
  const lines: Array<string> = []
  for (let start = 0; start < end; ) {
    const stop = bytes.indexOf(NEWLINE, start)
    lines.push(bytes.toString("utf8", start, stop))
    start = stop + 1
  }
  return lines
}

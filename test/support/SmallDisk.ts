import { execFileSync } from "node:child_process"
import { chownSync, closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"

const SIZE = "96m"
const CHUNK = Buffer.alloc(65_536)

/** A test that needs a disk of its own asks whether this user may mount one. */
export const mounts = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"] as const

/**
 * Moves a database that nobody uses yet to a small disk of its own, which a test fills: its tables and its temporary files, while the
 * write-ahead log stays where it is.
 */
export const onSmallDisk = Effect.fnUntraced(function* (database: Redacted.Redacted) {
  const name = new URL(Redacted.value(database)).pathname.slice(1)
  const elsewhere = yield* PgClient.makeClient({
    url: Redacted.make(Redacted.value(database).replace(/[^/]+$/, "postgres"))
  }).pipe(Effect.provide(Reactivity.layer))
  const [row] = yield* elsewhere<{ folder: string }>`SELECT current_setting('data_directory') AS folder`
  const { gid, uid } = statSync(row?.folder ?? "")
  const disk = mkdtempSync(join(tmpdir(), "small-disk-"))
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE},mode=0700`, "tmpfs", disk])
  chownSync(disk, uid, gid)
  const space = name.replace("test_", "small_")
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      yield* Effect.sync(() => rmSync(join(disk, "ballast"), { force: true }))
      yield* elsewhere.unsafe(`DROP DATABASE ${name} WITH (FORCE)`)
      yield* elsewhere.unsafe(`DROP TABLESPACE ${space}`)
      yield* Effect.sync(() => execFileSync("umount", [disk]))
      yield* Effect.sync(() => rmSync(disk, { recursive: true }))
    }).pipe(Effect.orDie)
  )
  yield* elsewhere.unsafe(`CREATE TABLESPACE ${space} LOCATION '${disk}'`)
  yield* elsewhere.unsafe(`ALTER DATABASE ${name} SET TABLESPACE ${space}`)
  const fill = Effect.sync(() => {
    const file = openSync(join(disk, "ballast"), "w")
    try {
      for (;;) writeSync(file, CHUNK)
    } catch {
      // The disk is full.
    } finally {
      closeSync(file)
    }
  })
  const empty = Effect.sync(() => rmSync(join(disk, "ballast")))
  return { fill, empty }
}, Effect.orDie)

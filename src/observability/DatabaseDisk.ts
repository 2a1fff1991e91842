import { promises } from "node:fs"
import { Effect, Option } from "effect"
import type { Family } from "./Family.ts"

interface Disk {
  readonly sizeBytes: number
  /** Null where only the database's server knows it, and PostgreSQL has no statement for it. */
  readonly freeBytes: number | null
}

/**
 * The disk that the database is on. Its size is the one from the settings; else that of the file system of the database's
 * folder, if it is on this machine; else it is unknown, and there is no metric. `sizeBytes` is null without the setting,
 * `folder` where the database is on another machine.
 */
export const databaseDisk = (sizeBytes: number | null, folder: string | null): Effect.Effect<ReadonlyArray<Family>> => {
  if (sizeBytes !== null) return Effect.succeed(families({ sizeBytes, freeBytes: null }))
  if (folder === null) return Effect.succeed(families(null))
  const measured = Effect.map(
    Effect.tryPromise(() => promises.statfs(folder)),
    ({ bavail, blocks, bsize }): Disk => ({ sizeBytes: blocks * bsize, freeBytes: bavail * bsize })
  )
  return Effect.map(Effect.option(measured), (found) => families(Option.getOrNull(found)))
}

/** Logs at the start that the alert for a full disk cannot fire, where neither the setting nor the folder gives the disk's size. */
export const announceDisk = (sizeBytes: number | null, folder: string | null): Effect.Effect<void> =>
  sizeBytes !== null || folder !== null
    ? Effect.void
    : Effect.logWarning(
        "DATABASE_DISK is not set: nobody knows how large the disk of the database is, and no alert says that it fills"
      )

const families = (disk: Disk | null): ReadonlyArray<Family> => [
  {
    name: "gateway_database_disk_bytes",
    help: "The size of the disk that the database lies on, as measured or as DATABASE_DISK says it; absent where neither is known.",
    samples: disk === null ? [] : [[{}, disk.sizeBytes]]
  },
  {
    name: "gateway_database_disk_free_bytes",
    help: "What is free of it; absent where the database is not on this machine.",
    samples: disk === null || disk.freeBytes === null ? [] : [[{}, disk.freeBytes]]
  }
]

import { promises } from "node:fs"
import { Effect, Option } from "effect"
import type { Family } from "./Family.ts"

interface Disk {
  readonly sizeBytes: number
  /** Null where only the database's server could say it, and PostgreSQL has no statement for it. */
  readonly freeBytes: number | null
}

/**
 * The disk that the database lies on: of the size that the settings say; else that of its folder, where that is on this machine; else unknown, and
 * then it has no metric. `sizeBytes` is null without the setting, `folder` where the database is elsewhere.
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

/** Says at the start that the alert of a disk that fills cannot fire, where nobody says how large the disk is. */
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

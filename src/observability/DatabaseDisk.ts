import { promises } from "node:fs"
import { Effect, Option } from "effect"
import type { Family } from "./Family.ts"

/** Where neither a setting says it nor the folder is on this machine. */
const ASSUMED_BYTES = 100_000_000_000

interface Disk {
  readonly sizeBytes: number
  /** Null where only the database's server could say it, and PostgreSQL has no statement for it. */
  readonly freeBytes: number | null
}

/**
 * The disk that the database lies on: of the size that the settings say; else that of its folder, where that is on this machine. `sizeBytes` is
 * null without the setting, `folder` where the database is elsewhere.
 */
export const databaseDisk = (sizeBytes: number | null, folder: string | null): Effect.Effect<ReadonlyArray<Family>> => {
  const assumed: Disk = { sizeBytes: sizeBytes ?? ASSUMED_BYTES, freeBytes: null }
  if (sizeBytes !== null || folder === null) return Effect.succeed(families(assumed))
  const measured = Effect.map(
    Effect.tryPromise(() => promises.statfs(folder)),
    ({ bavail, blocks, bsize }): Disk => ({ sizeBytes: blocks * bsize, freeBytes: bavail * bsize })
  )
  return Effect.map(Effect.option(measured), (found) => families(Option.getOrElse(found, () => assumed)))
}

const families = ({ freeBytes, sizeBytes }: Disk): ReadonlyArray<Family> => [
  {
    name: "gateway_database_disk_bytes",
    help: "The size of the disk that the database lies on, as measured or as DATABASE_DISK says it.",
    samples: [[{}, sizeBytes]]
  },
  {
    name: "gateway_database_disk_free_bytes",
    help: "What is free of it; absent where the database is not on this machine.",
    samples: freeBytes === null ? [] : [[{}, freeBytes]]
  }
]

import { accessSync, constants, statfsSync } from "node:fs"
import { tmpdir } from "node:os"

/** Linux's file system in memory. */
const MEMORY = "/dev/shm"
const TMPFS = 0x01021994
/** Several times what the databases of a run take at once, as everything else needs memory, too. */
const ROOM_BYTES = 6 * 1024 ** 3

const hasRoom = (): boolean => {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize, type } = statfsSync(MEMORY)
    return type === TMPFS && Math.min(bavail * bsize, process.availableMemory()) >= ROOM_BYTES
  } catch {
    return false
  }
}

/** Where the servers of tests keep their data: a database is five hundred files, and each takes a tenth of the time in memory. */
export const databaseFolder = (): string => (hasRoom() ? MEMORY : tmpdir())

/** Every folder that an earlier run may have chosen. */
export const databaseFolders: ReadonlyArray<string> = [tmpdir(), MEMORY]

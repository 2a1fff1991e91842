import { execFile, spawn } from "node:child_process"
import { chmod, mkdir, open, rm, statfs } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"

// A small disk of its own: an ext4 in a file, mounted. It can be full, and it can stand still.

const run = promisify(execFile)

export interface Disk {
  readonly folder: string
  /** Takes what is free, to the last block. Called again it takes what became free meanwhile. */
  readonly fill: () => Promise<void>
  /** Gives all of it back. */
  readonly empty: () => Promise<void>
  /** Nothing is written for so long, and whoever writes waits. Answers when it is over. */
  readonly stall: (seconds: number) => Promise<void>
  readonly freeBytes: () => Promise<number>
  readonly close: () => Promise<void>
}

const CHUNK = Buffer.alloc(256 * 1024, 1)
const LEAST_CHUNK = 1

/** `image` is the file that it is made in, and `folder` where it is mounted. */
export const openDisk = async (image: string, folder: string, megabytes: number): Promise<Disk> => {
  const ballast = join(folder, "ballast")
  await mkdir(folder, { recursive: true })
  await run("truncate", ["-s", `${megabytes}M`, image])
  // No blocks are kept for the administrator, who could write there when others cannot any more.
  await run("mkfs.ext4", ["-q", "-F", "-m", "0", image])
  await run("mount", ["-o", "loop,noatime", image, folder])
  // Its blocks are given back with the mount, however this process ends.
  await rm(image)
  await chmod(folder, 0o711)
  const thaw = () => run("fsfreeze", ["-u", folder]).catch(() => undefined)
  return {
    folder,
    fill: () => filled(ballast),
    empty: () => rm(ballast, { force: true }),
    stall: async (seconds) => {
      // It ends by another process, which began before it, and which outlives this one.
      const over = watchdog(folder, seconds)
      try {
        await run("fsfreeze", ["-f", folder])
        await over
      } finally {
        await thaw()
      }
    },
    freeBytes: async () => {
      const { bavail, bsize } = await statfs(folder)
      return bavail * bsize
    },
    close: async () => {
      await thaw()
      await run("umount", [folder]).catch(() => run("umount", ["--lazy", folder]))
    }
  }
}

const filled = async (ballast: string): Promise<void> => {
  const file = await open(ballast, "a")
  try {
    for (let size = CHUNK.length; size >= LEAST_CHUNK; ) {
      const taken = await file.write(CHUNK, 0, size).then(
        ({ bytesWritten }) => bytesWritten,
        (cause: NodeJS.ErrnoException) => {
          if (cause.code === "ENOSPC") return 0
          throw cause
        }
      )
      if (taken < size) size = Math.floor(size / 2)
    }
  } finally {
    await file.close()
  }
}

const watchdog = (folder: string, seconds: number): Promise<void> => {
  const words = `trap '' INT TERM HUP; sleep ${seconds}; exec fsfreeze -u '${folder}'`
  const child = spawn("sh", ["-c", words], { detached: true, stdio: "ignore" })
  return new Promise((ended) => child.once("exit", () => ended()))
}

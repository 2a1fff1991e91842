import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { openDisk } from "../Disk.ts"

// With mounts of its own: what is said by a small disk that has room, that is full, that has room again, and that stands still for a second.

const MEGABYTES = 16
const STALL_SECONDS = 1
const PAUSE_MS = 20

const folder = await mkdtemp(join(tmpdir(), "payment-gateway-disk-"))
const disk = await openDisk(join(folder, "image"), join(folder, "disk"), MEGABYTES)
const written = (name: string): Promise<string> =>
  writeFile(join(disk.folder, name), "a line", { flush: true }).then(
    () => "written",
    (cause: NodeJS.ErrnoException) => cause.code ?? "another error"
  )
const said: Record<string, string> = {}
try {
  said["with room"] = await written("one")
  await disk.fill()
  said["full"] = await written("two")
  said["free bytes of it"] = String(await disk.freeBytes())
  await disk.empty()
  said["with room again"] = await written("three")
  const over = disk.stall(STALL_SECONDS)
  // It stands still a moment after it was asked to.
  let waited = 0
  for (let isOver = false; !isOver; ) {
    const began = performance.now()
    await written("four")
    waited = Math.max(waited, performance.now() - began)
    isOver = await Promise.race([over.then(() => true), pause(PAUSE_MS).then(() => false)])
  }
  said["stalled"] = waited > (STALL_SECONDS * 1000) / 2 ? "a write waited" : `${waited} ms`
  said["at the end"] = await written("five")
} finally {
  await disk.close()
  await rm(folder, { recursive: true, force: true })
}
console.log(JSON.stringify(said))

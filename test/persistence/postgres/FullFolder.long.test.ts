import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"

const src = join(import.meta.dirname, "..", "..", "..", "src")

/** The files that a process leaves in a folder where it can make some, and write nothing into them: as on a disk that is full. */
const leftBy = async (imported: string, work: string): Promise<unknown> => {
  const folder = await mkdtemp(join(tmpdir(), "full-folder-"))
  try {
    const words = `import { readdirSync } from "node:fs"
      import { Effect } from "effect"
      ${imported}
      const file = ${JSON.stringify(join(folder, "file"))}
      const { _tag } = await Effect.runPromise(Effect.exit(${work}))
      console.log(JSON.stringify([_tag, readdirSync(${JSON.stringify(folder)})]))`
    const node = [process.execPath, "--input-type=module", "-e", words]
    const { stdout } = await promisify(execFile)("sh", ["-c", 'ulimit -f 0; exec "$@"', "sh", ...node], { cwd: src })
    return JSON.parse(stdout)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const moduleOf = (path: string): string => JSON.stringify(join(src, path))

describe("a folder on a full disk", () => {
  it("keeps no draft of a lock that could not be written, however often it is tried", async () => {
    const lock = `import { withFolderLock } from ${moduleOf("persistence/postgres/FolderLock.ts")}`
    expect(await leftBy(lock, "withFolderLock(file)(Effect.void)")).toEqual(["Failure", []])
  })

  it("keeps no draft of a file that could not be written", async () => {
    const write = `import { DataFolder } from ${moduleOf("commands/DataFolder.ts")}`
    expect(await leftBy(write, 'DataFolder.write(file, "text")')).toEqual(["Failure", []])
  })
})

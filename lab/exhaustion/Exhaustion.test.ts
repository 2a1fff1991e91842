import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect } from "vitest"
import { itWith } from "../../test/support/Installed.ts"

const run = promisify(execFile)
const canMount = "unshare --mount true && command -v mkfs.ext4 && command -v fsfreeze && test -e /dev/loop-control"

describe("a small disk", () => {
  itWith("sh", "-c", canMount)(
    "is full, has room again, and stands still, and is gone afterwards",
    async () => {
      const inside = [process.execPath, join(import.meta.dirname, "support", "DiskThatFills.ts")]
      const { stdout } = await run("unshare", ["--mount", ...inside])
      expect(JSON.parse(stdout)).toEqual({
        "with room": "written",
        full: "ENOSPC",
        "free bytes of it": "0",
        "with room again": "written",
        stalled: "a write waited",
        "at the end": "written"
      })
    },
    600_000
  )
})

/** How a write, and then a sync, of a file ends in a program whose writes can be made to fail. */
const SPEAKS = `const { closeSync, fsyncSync, openSync, writeSync } = require("node:fs")
  const file = openSync(process.argv[1], "w")
  const said = (act) => { try { act(); return "done" } catch ({ code }) { return code } }
  console.log(said(() => writeSync(file, Buffer.from("a line"), 0, 6, 0)), said(() => fsyncSync(file)))
  closeSync(file)`

describe("writes that fail", () => {
  itWith("gcc", "--version")("are those that were asked for, while they are asked for", async () => {
    const folder = await mkdtemp(join(tmpdir(), "payment-gateway-writes-"))
    try {
      const [library, control] = [join(folder, "write-errors.so"), join(folder, "control")]
      await run("gcc", ["-O2", "-shared", "-fPIC", "-o", library, join(import.meta.dirname, "write-errors.c"), "-ldl"])
      const said = async () => {
        const env = { ...process.env, LD_PRELOAD: library, WRITE_ERRORS: control }
        return (await run(process.execPath, ["-e", SPEAKS, join(folder, "file")], { env })).stdout.trim()
      }
      expect(await said()).toBe("done done")
      await writeFile(control, "writes")
      expect(await said()).toBe("EIO done")
      await writeFile(control, "syncs")
      expect(await said()).toBe("done EIO")
      await rm(control)
      expect(await said()).toBe("done done")
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})

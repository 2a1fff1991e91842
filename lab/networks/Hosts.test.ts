import { execFile } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"

const programs = ["ip", "iptables", "tc", "sysctl", "unshare"]
const folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]

const has = (program: string): boolean =>
  folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

const canMakeHosts = process.getuid?.() === 0 && programs.every(has)

describe("hosts of a network of their own", () => {
  it.skipIf(!canMakeHosts)(
    "are cut, deaf, refused and slow towards each other, and are as before afterwards",
    async () => {
      const { stdout } = await promisify(execFile)("unshare", [
        "--net",
        process.execPath,
        join(import.meta.dirname, "support", "SpeakingHosts.ts")
      ])
      expect(JSON.parse(stdout)).toEqual({
        whole: "heard",
        cut: "silence",
        mended: "heard",
        "one-way": "silence",
        "the other way": "silence",
        reset: "refused",
        alone: "silence",
        "a neighbour meanwhile": "heard",
        "as slow as": "10 to 40 kB a second",
        "at the end": "heard"
      })
    },
    60_000
  )
})

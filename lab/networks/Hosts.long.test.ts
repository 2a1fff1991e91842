import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect } from "vitest"
import { itWith } from "../../test/support/Installed.ts"

const canMakeHosts = "unshare --net true && command -v iptables tc ip sysctl"

describe("hosts of a network of their own", () => {
  itWith("sh", "-c", canMakeHosts)(
    "are cut, deaf, refused and slow towards each other, and are as before afterwards",
    async () => {
      const inside = [process.execPath, join(import.meta.dirname, "support", "SpeakingHosts.ts")]
      const { stdout } = await promisify(execFile)("unshare", ["--net", ...inside])
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

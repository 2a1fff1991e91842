import type * as promises from "node:fs/promises"
import { link, mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { RunFolder } from "../../clients/cli/src/RunFolder.ts"
import { lockOfDead } from "./RunLocks.ts"

vi.mock("node:fs/promises", async (original) => {
  const module = await original<typeof promises>()
  return { ...module, link: vi.fn(module.link) }
})

describe("the lock of a run", () => {
  let folder = ""
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "payment-gateway-run-"))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it.each(["EPERM", "ENOTSUP", "EOPNOTSUPP"])("is one holder's also where the file system has no links (%s)", async (code) => {
    await writeFile(join(folder, "nov.run.lock"), await lockOfDead())
    vi.mocked(link).mockImplementation(async () => {
      throw Object.assign(new Error(code), { code })
    })
    try {
      const opened = await Promise.allSettled(Array.from({ length: 32 }, () => RunFolder.open(folder, "nov")))
      const refusals = opened.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []))
      expect(opened.length - refusals.length).toBe(1)
      expect(refusals.filter((text) => !text.includes(`the run is under way in process ${process.pid};`))).toEqual([])
      for (const one of opened) if (one.status === "fulfilled") await one.value.close()
      expect(await readdir(folder)).toEqual([])
    } finally {
      vi.mocked(link).mockReset()
    }
  })
})

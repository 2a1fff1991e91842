import { appendFile, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { RunFolder } from "../../clients/cli/src/RunFolder.ts"
import type { RunEntry } from "../../clients/typescript/src/Gateway.ts"

const sending = (row: number): RunEntry => ({ type: "sending", row, key: `nov-${row}` })

describe("the folder of a run", () => {
  let folder = ""
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "payment-gateway-run-"))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it("has its entries in the next process, without one that a crash cut off, and goes on behind them", async () => {
    const first = await RunFolder.open(folder, "nov")
    await Promise.all([first.keep(sending(2)), first.keep(sending(3))])
    await first.close()
    const journal = join(folder, "nov.run.jsonl")
    await appendFile(journal, '{"type":"made","row":2,"ke')
    const second = await RunFolder.open(folder, "nov")
    expect(await second.entries()).toEqual([sending(2), sending(3)])
    await second.keep(sending(4))
    await second.close()
    const third = await RunFolder.open(folder, "nov")
    expect(await third.entries()).toEqual([sending(2), sending(3), sending(4)])
    await third.close()
    expect((await stat(journal)).mode & 0o077).toBe(0)
  })

  it("is one process's at a time; what a killed one left behind keeps nobody out, and an empty run leaves nothing", async () => {
    await writeFile(join(folder, "nov.run.lock"), String(process.ppid))
    await expect(RunFolder.open(folder, "nov")).rejects.toThrow(`the run is under way in process ${process.ppid}`)
    await writeFile(join(folder, "nov.run.lock"), "999999999")
    const run = await RunFolder.open(folder, "nov")
    await run.close()
    expect(await readdir(folder)).toEqual([])
  })

  it("replaces its reports as a whole", async () => {
    const run = await RunFolder.open(folder, "nov")
    const row = { row: 2, key: "nov-2", reference: "R1", status: "failed", fees_minor: null, failure: "x" } as const
    const files = await run.report({ name: "nov", state: "finished", plan: null, stoppedBy: null, rows: [row] })
    await run.report({ name: "nov", state: "finished", plan: null, stoppedBy: null, rows: [row] })
    await run.close()
    expect(files.map((file) => file.slice(folder.length + 1))).toEqual(["nov.run.report.csv", "nov.run.report.json"])
    expect(await readdir(folder)).toEqual(["nov.run.report.csv", "nov.run.report.json"])
  })
})

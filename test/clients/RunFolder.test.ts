import { spawnSync } from "node:child_process"
import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { RunFolder } from "../../clients/cli/src/RunFolder.ts"
import type { RunEntry } from "../../clients/typescript/src/Gateway.ts"

const sending = (row: number): RunEntry => ({ type: "sending", row, key: `nov-${row}` })

/** What a process that was killed since has left in its lock. */
const lockOfDead = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "payment-gateway-run-"))
  const module = join(import.meta.dirname, "../../clients/cli/src/RunLock.ts")
  const script = `await (await import(${JSON.stringify(module)})).takeLock(${JSON.stringify(join(folder, "lock"))})`
  spawnSync(process.execPath, ["--input-type=module", "-e", script])
  const text = await readFile(join(folder, "lock"), "utf8")
  await rm(folder, { recursive: true })
  return text
}

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

  it("is one holder's at a time, also in one process", async () => {
    const run = await RunFolder.open(folder, "nov")
    const underWay = `the run is under way in process ${process.pid}; if it is not, delete ${join(folder, "nov.run.lock")}`
    await expect(RunFolder.open(folder, "nov")).rejects.toThrow(underWay)
    await run.close()
    expect(await readdir(folder)).toEqual([])
  })

  it("is one holder's where many find the lock that a killed process left behind", async () => {
    await writeFile(join(folder, "nov.run.lock"), await lockOfDead())
    const opened = await Promise.allSettled(Array.from({ length: 32 }, () => RunFolder.open(folder, "nov")))
    expect(opened.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
    for (const one of opened) if (one.status === "fulfilled") await one.value.close()
    expect(await readdir(folder)).toEqual([])
  })

  it("is not taken over from a process that has the number of a dead one, nor from what cannot be judged", async () => {
    const lock = join(folder, "nov.run.lock")
    const { began, host, pid } = JSON.parse(await lockOfDead())
    // The number is this process's now, and the start is the other's.
    await writeFile(lock, JSON.stringify({ pid: process.pid, host, began }))
    await (await RunFolder.open(folder, "nov")).close()
    await writeFile(lock, JSON.stringify({ pid, host: "elsewhere", began }))
    await expect(RunFolder.open(folder, "nov")).rejects.toThrow(`the run is under way in process ${pid} on elsewhere`)
    for (const text of ["", "{}", "17"]) {
      await writeFile(lock, text)
      await expect(RunFolder.open(folder, "nov")).rejects.toThrow("the run may be under way; if it is not, delete")
    }
  })

  it("says which file to delete where a process was killed while it took over", async () => {
    const dead = await lockOfDead()
    await writeFile(join(folder, "nov.run.lock"), dead)
    await writeFile(join(folder, "nov.run.lock.takeover"), dead)
    await expect(RunFolder.open(folder, "nov")).rejects.toThrow(`delete ${join(folder, "nov.run.lock.takeover")}`)
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

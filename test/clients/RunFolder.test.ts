import { appendFile, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { setImmediate } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { RunFolder } from "../../clients/cli/src/RunFolder.ts"
import type { RunEntry } from "../../clients/typescript/src/Gateway.ts"
import { answerOf, lockOfDead } from "./RunLocks.ts"

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

  it("is one holder's at a time, also in one process", async () => {
    const run = await RunFolder.open(folder, "nov")
    const underWay = `the run is under way in process ${process.pid}; if it is not, delete ${join(folder, "nov.run.lock")}`
    await expect(RunFolder.open(folder, "nov")).rejects.toThrow(underWay)
    await run.close()
    expect(await readdir(folder)).toEqual([])
  })

  it("is one holder's where many find the lock that a killed process left behind", async () => {
    const left = await lockOfDead()
    // Each begins a moment after the one before, so that some have read the old lock when another has just taken it over.
    const openLater = async (turns: number) => {
      for (let turn = 0; turn < turns; turn++) await setImmediate()
      return RunFolder.open(folder, "nov")
    }
    for (let race = 0; race < 10; race++) {
      await writeFile(join(folder, "nov.run.lock"), left)
      const opened = await Promise.allSettled(Array.from({ length: 32 }, (_, number) => openLater(number)))
      expect(opened.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
      for (const one of opened) if (one.status === "fulfilled") await one.value.close()
      expect(await readdir(folder)).toEqual([])
    }
  })

  it("is not taken over from a process that has the number of a dead one, nor from what cannot be judged", async () => {
    const lock = join(folder, "nov.run.lock")
    const dead = JSON.parse(await lockOfDead())
    // The number is this process's now, and the start is the other's.
    await writeFile(lock, JSON.stringify({ ...dead, pid: process.pid }))
    await (await RunFolder.open(folder, "nov")).close()
    await writeFile(lock, JSON.stringify({ ...dead, host: "elsewhere" }))
    await expect(RunFolder.open(folder, "nov")).rejects.toThrow(`the run is under way in process ${dead.pid} on elsewhere`)
    for (const text of ["", "{}", "17"]) {
      await writeFile(lock, text)
      await expect(RunFolder.open(folder, "nov")).rejects.toThrow("the run may be under way; if it is not, delete")
    }
  })

  it("is not taken over from a process of another machine with this one's name, whose numbers say nothing here", async () => {
    const lock = join(folder, "nov.run.lock")
    const dead = JSON.parse(await lockOfDead())
    for (const machine of ["another", null]) {
      await writeFile(lock, JSON.stringify({ ...dead, machine }))
      await expect(RunFolder.open(folder, "nov")).rejects.toThrow(
        `the run is under way in process ${dead.pid} on another machine that is named ${dead.host}; if it is not, delete ${lock}`
      )
    }
  })

  it("is not taken over from a process of another container of the machine, whose numbers mean other processes", async () => {
    const lock = join(folder, "nov.run.lock")
    const dead = JSON.parse(await lockOfDead())
    await writeFile(lock, JSON.stringify({ ...dead, namespace: "pid:[1]" }))
    await expect(RunFolder.open(folder, "nov")).rejects.toThrow(
      `the run is under way in process ${dead.pid} of another container`
    )
    const { began, host, pid } = dead
    await writeFile(lock, JSON.stringify({ began, host, pid }))
    await expect(RunFolder.open(folder, "nov")).rejects.toThrow("the run may be under way; if it is not, delete")
  })

  it("knows a process by its start whatever the time zone and the language of who asks, where ps says it", async () => {
    const programs = join(folder, "programs")
    await mkdir(programs)
    // Says the start as a ps would: by the zone and the language that it is called with.
    await writeFile(join(programs, "ps"), '#!/bin/sh\necho "Sun Nov 29 $* in $TZ and $LC_ALL"\n', { mode: 0o755 })
    const asked = (TZ: string, LC_ALL: string) => answerOf("await lock.startByPs(17)", { PATH: programs, TZ, LC_ALL })
    expect(asked("Africa/Kampala", "sw_KE.UTF-8")).toBe("Sun Nov 29 -o lstart= -p 17 in UTC and C")
    expect(asked("Europe/Berlin", "de_DE.UTF-8")).toBe(asked("Africa/Kampala", "sw_KE.UTF-8"))
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

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import type { What } from "./Case.ts"
import { lineOf, playedBefore, type Run, runsIn, sumsOf } from "./Runs.ts"

const run = (seed: number, parts: ReadonlyArray<readonly [what: What, from: number, until: number]>): Run => ({
  date: "",
  commit: "",
  command: "",
  seed,
  seconds: 1,
  parts: parts.map(([what, from, until]) => ({
    what,
    from,
    until,
    requests: 10,
    of: {},
    statuses: { 200: 1, 401: 9 },
    slowestMs: 1,
    largestBytes: 1,
    found: 0
  })),
  ledger_ok: true,
  resident_megabytes: 1,
  found: 0
})

it("a recorded run goes on where the last one of its seed and kind ended, whatever else was played in between", () => {
  const folder = mkdtempSync(join(tmpdir(), "payment-gateway-runs-"))
  const file = join(folder, "fuzz.jsonl")
  expect(playedBefore(file, 1, "signed")).toBe(0)
  const runs = [
    run(1, [
      ["raw", 0, 7],
      ["signed", 0, 10]
    ]),
    run(1, [["signed", 10, 25]]),
    run(2, [["signed", 0, 90]]),
    run(1, [["callbacks", 0, 40]])
  ]
  writeFileSync(file, runs.map((one) => `${lineOf(one)}\n`).join(""))
  expect((["raw", "signed", "callbacks", "json"] as const).map((what) => playedBefore(file, 1, what))).toEqual([7, 25, 40, 0])
  expect(sumsOf(runsIn(file))).toEqual({
    runs: 4,
    seconds: 4,
    found: 0,
    requests: 50,
    raw: 10,
    signed: 30,
    "wrong signatures": 27,
    callbacks: 10
  })
  rmSync(folder, { recursive: true })
})

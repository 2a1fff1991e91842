import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { type Run, rows, runs } from "./Runs.ts"

const run: Run = {
  date: "2026-11-26",
  commit: "0123456789ab",
  command: "npm run chaos -- --seconds 600 --seed 41",
  ok: true,
  figures: { kills: { total: 2, PostgreSQL: 1 }, wrong_floats: 0, operations: 43_488, ledger_ok: true, unexplained: [] }
}

describe("the runs on record", () => {
  it("are what docs/reliability/runs.md shows", () => {
    const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "reliability", "runs.md"), "utf8")
    expect(page.split("\n").filter((line) => /^\| (?!Command|---)/.test(line))).toEqual(rows(runs()))
  })

  it("are shown with every figure, and with whether they passed", () => {
    expect(rows([run, { ...run, ok: false, figures: { lost: 1 } }])).toEqual([
      "| `npm run chaos -- --seconds 600 --seed 41` | 2026-11-26, 0123456789ab | passed | kills (total 2, PostgreSQL 1), wrong floats 0, operations 43,488, ledger ok true, unexplained none |",
      "| `npm run chaos -- --seconds 600 --seed 41` | 2026-11-26, 0123456789ab | **failed** | lost 1 |"
    ])
  })
})

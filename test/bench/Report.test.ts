import { describe, expect, it } from "@effect/vitest"
import { type Measured, type Part, rowOf, summaryOf, tableOf } from "../../bench/Report.ts"

const shown: Part = { name: "shown", against: "a floor", run: async () => measured }
const measured: Measured = { ours: 3, theirs: 2, unit: "ms", ratio: 1.5, details: {} }

describe("a part without a target", () => {
  it("is neither reached nor missed, so that it fails no run", () => {
    expect(rowOf(shown, measured, 1).reached).toBe(undefined)
  })

  it("is a line without a verdict, of one run and of several", () => {
    const rows = [rowOf(shown, measured, 1)]
    const lines = [tableOf(rows), summaryOf([rows, rows])].map((table) => table.split("\n").at(-1)?.split(/ {2,}/))
    expect(lines).toEqual([
      ["shown", "3.00", "2.00", "ms", "1.50 x", "-", "-", "a floor"],
      ["shown", "3.00", "2.00", "ms", "1.50 x", "1.50 x", "1.50 x", "-", "-"]
    ])
  })

  it("counts as missed where it could not be measured to its end", () => {
    expect(rowOf(shown, { ...measured, reached: false }, 1).reached).toBe(false)
  })
})

import { describe, expect, it } from "vitest"
import { parts as killed } from "../../lab/chaos/everything/Sums.ts"
import { runsIn, sumsOf } from "../../lab/fuzz/Runs.ts"
import { parts as played } from "../../lab/simulation/Record.ts"
import { read } from "./Pages.ts"

const total = (counts: ReadonlyArray<number>): string => counts.reduce((sum, count) => sum + count, 0).toLocaleString("en-US")

describe("docs/reliability.md", () => {
  it("says how much is on record, as the records do", () => {
    const fuzzed = sumsOf(runsIn("docs/reliability/fuzz.jsonl"))
    const kills = total(killed().map((part) => part.kills["total"] ?? 0))
    const operations = total(killed().map((part) => part.operations["total"] ?? 0))
    const page = read("docs/reliability.md")
    for (const figure of [
      `${kills} kills, ${operations} operations`,
      `${total(played().map(({ seeds }) => seeds))} stories on record`,
      `${total([fuzzed["requests"] ?? 0])} requests on record`
    ])
      expect(page).toContain(`| ${figure}`)
  })

  it("is a page", () => {
    expect(read("docs/reliability.md").split("\n").length).toBeLessThanOrEqual(90)
  })
})

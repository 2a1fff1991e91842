import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { type Part, parts, sums } from "./Sums.ts"

const part = (override: Partial<Part>): Part => ({
  minutes: 120,
  operations: 1_000,
  webhooks: 2_000,
  failed: 1,
  faults: 0,
  lost: 0,
  ledger_ok: true,
  audit_ok: true,
  trends: {},
  ...override
})

const memory = (slope: number) => ({ "gateway two: memory, MiB": { from: 300, to: 301, slope, give_or_take: 1 } })
const shown = (all: ReadonlyArray<Part>, what: string) => sums(all).find((row) => row.startsWith(`| ${what}`))

describe("the record of soaks", () => {
  it("is what docs/reliability/soak.md shows", () => {
    const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "reliability", "soak.md"), "utf8")
    const table = page.split("## Parts on record\n")[1]?.split("\n##")[0] ?? ""
    expect(table.split("\n").filter((line) => /^\| (?!What|---)/.test(line))).toEqual(sums(parts()))
  })

  it("sums nothing to nothing", () => {
    expect(shown([], "Hours")).toBe("| Hours | 0 |")
    expect(shown([], "Memory of a gateway")).toMatch(/\| not measured \|$/)
  })

  it("adds its parts up, also one that could not be accounted for", () => {
    const { lost: _, ...unaccounted } = part({ minutes: 30, faults: 1 })
    const all = [part({ lost: 2, ledger_ok: false }), part({ minutes: 60, lost: 1 }), unaccounted]
    expect(sums(all)).toEqual(expect.arrayContaining(["| Hours | 3.5 |", "| Money operations | 3,000 |", "| Lost | 3 |"]))
    expect(shown(all, "`ledger verify`")).toBe("| `ledger verify` not ok | 1 |")
    expect(shown(all, "Parts that could not")).toBe("| Parts that could not be accounted for | 1 |")
  })

  it("shows the steepest slope of the worst verdict, which a part that was too short does not have", () => {
    const short = part({ minutes: 17, trends: memory(48) })
    const [level, leak] = [part({ trends: memory(2) }), part({ trends: memory(20) })]
    const tail = (all: ReadonlyArray<Part>) => shown(all, "Memory of a gateway")?.split(" | ")[1]
    expect(tail([short])).toBe("48 ± 1 (0 ok, 0 grows, 1 uncertain) |")
    expect(tail([short, level])).toBe("2 ± 1 (1 ok, 0 grows, 1 uncertain) |")
    expect(tail([short, level, leak])).toBe("20 ± 1 (1 ok, 1 grows, 1 uncertain) |")
  })

  it("shows the slope of a long part where a short one, which is still filling, is steeper", () => {
    const filling = (slope: number) => ({ "PostgreSQL: memory, MiB": { from: 300, to: 500, slope, give_or_take: 1 } })
    const all = [part({ minutes: 20, trends: filling(1_000) }), part({ trends: filling(-5) })]
    expect(shown(all, "PostgreSQL's memory, MiB")?.split(" | ")[1]).toBe("-5 ± 1 (2 ok, 0 grows, 0 uncertain) |")
  })

  it("shows what a long part leaves undecided, whatever another part decided", () => {
    const [level, undecided] = [part({ trends: memory(2) }), part({ trends: memory(9.5) })]
    expect(shown([undecided, level], "Memory of a gateway")?.split(" | ")[1]).toBe("9.5 ± 1 (1 ok, 0 grows, 1 uncertain) |")
  })
})

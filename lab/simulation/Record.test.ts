import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { emptyPart, nextSeed, type Part, parts, playedBefore, sums, withStory } from "./Record.ts"

const part = (override: Partial<Part>): Part => ({
  ...emptyPart({ commit: "c", first: 1, steps: 40 }),
  seeds: 100,
  ...override
})

describe("the record of played stories", () => {
  it("is what docs/reliability/simulation.md shows", () => {
    const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "reliability", "simulation.md"), "utf8")
    const table = page.split("## Stories on record\n")[1]?.split("\n##")[0] ?? ""
    expect(table.split("\n").filter((line) => /^\| (?!Stories|---)/.test(line))).toEqual(sums(parts()))
  })

  it("has no story twice", () => {
    const all = parts()
    expect(all.filter((one) => playedBefore(all, one) !== one)).toEqual([])
  })

  it("knows a story again by its seed and its steps, wherever in a part it was played", () => {
    const all = [part({ first: 101 })]
    const seen = [1, 2, 101, 200, 201].filter((first) => playedBefore(all, { first, seeds: 100, steps: 40 }) !== undefined)
    expect(seen).toEqual([2, 101, 200])
    expect(playedBefore(all, { first: 101, seeds: 100, steps: 200 })).toBeUndefined()
    // For ever, and yet never as far as the eventful ones.
    expect(playedBefore([part({ first: 1_000_000 })], { first: 201, seeds: Number.POSITIVE_INFINITY, steps: 40 })).toBeUndefined()
  })

  it("goes on after the last seed of the same kind and length", () => {
    const all = [part({ first: 101 }), part({ first: 1, steps: 200 }), part({ first: 1_000_000, seeds: 7 })]
    expect(nextSeed(all, { first: 1, steps: 40 })).toBe(201)
    expect(nextSeed(all, { first: 500, steps: 40 })).toBe(500)
    expect(nextSeed(all, { first: 1, steps: 200 })).toBe(101)
    expect(nextSeed(all, { first: 1_000_000, steps: 40 })).toBe(1_000_007)
    expect(nextSeed([], { first: 1, steps: 40 })).toBe(1)
  })

  it("counts a story with several faults as one, and sums each kind and length", () => {
    const played = { operations: 10, movements: 5, crashes: 3, jumps: 1, reviewed: 2, faults: ["a", "b"] }
    const failed = withStory(emptyPart({ commit: "c", first: 9, steps: 200 }), played)
    expect(sums([failed, part({ operations: 1_200 }), part({ first: 1_000_000, operations: 34 })])).toEqual([
      "| eventful | 40 | 100 | 34 | 0 | 0 | 0 | 0 |",
      "| ordinary | 40 | 100 | 1,200 | 0 | 0 | 0 | 0 |",
      "| ordinary | 200 | 1 | 10 | 5 | 3 | 2 | 1 |",
      "| all | any | 201 | 1,244 | 5 | 3 | 2 | 1 |"
    ])
  })
})

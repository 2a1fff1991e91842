import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { expect, it } from "vitest"
import { explained } from "./Explained.ts"
import { isEnough, percentage, type StrykerReport, scoresOf, sumOf, survivorsOf, tableOf } from "./Report.ts"

const source = "export const smaller = (a: bigint, b: bigint) => (a < b ? a : b)\nexport const none = 0n\n"
const file = "src/domain/Money.ts"
const mutant = (status: "Killed" | "Survived" | "RuntimeError", text: string, replacement: string) => {
  const before = source.slice(0, source.indexOf(text)).split("\n")
  const start = { line: before.length, column: (before.at(-1) ?? "").length + 1 }
  const end = { line: start.line, column: start.column + text.length }
  return { mutatorName: "any", status, replacement, location: { start, end } }
}
const report: StrykerReport = {
  files: {
    [file]: {
      source,
      mutants: [
        mutant("Killed", "a < b", "false"),
        mutant("Survived", "a < b", "a <= b"),
        mutant("Survived", "0n", "1n"),
        mutant("RuntimeError", "0n", "x")
      ]
    }
  }
}

it("a mistake that no test notices is open until somebody has said why it need not be noticed", () => {
  expect(survivorsOf(report).map(({ line, original, why }) => [line, original, why === undefined])).toEqual([
    [1, "a < b", false],
    [2, "0n", true]
  ])
})

it("what is explained is not found and not open, and a score is never rounded up", () => {
  const expected = { mutants: 3, found: 1, explained: 1, open: 1, score: 33.3 }
  expect(scoresOf(report)).toEqual({ [file]: expected })
  expect(sumOf([expected, expected])).toEqual({ mutants: 6, found: 2, explained: 2, open: 2, score: 33.3 })
  expect(percentage(9_499, 10_000)).toBe(94.9)
})

it("a part is good enough where none is open and its goal is reached, whatever was explained", () => {
  const part = { mutants: 100, found: 90, explained: 10, open: 0, score: 90 }
  expect(isEnough(part, 85)).toBe(true)
  expect(isEnough(part, 95)).toBe(false)
  expect(isEnough({ ...part, explained: 9, open: 1 }, 85)).toBe(false)
})

it("every explained mistake is still there to be made", () => {
  for (const [name, all] of Object.entries(explained)) {
    const text = readFileSync(resolve(name), "utf8")
    for (const { line, original, why } of all) {
      expect([name, original, text.includes(original)]).toEqual([name, original, true])
      if (line !== undefined)
        expect([name, line, text.split("\n").some((one) => one.trim() === line)]).toEqual([name, line, true])
      expect(why.length).toBeGreaterThan(10)
    }
  }
})

it("docs/reliability/mistakes.md shows the sums of docs/reliability/mutation.json", () => {
  const read = (name: string) => readFileSync(resolve("docs", "reliability", name), "utf8")
  const rows = read("mistakes.md").split("\n| Part |")[1]?.split("\n\n")[0]?.split("\n").slice(2)
  expect(rows).toEqual(tableOf(JSON.parse(read("mutation.json"))))
})

import { expect, it } from "@effect/vitest"
import { csvLine } from "../../src/domain/CsvText.ts"

it.each<readonly [string, string]>([
  ["plain", "plain"],
  ["=1+1", "'=1+1"],
  ["said;=HYPERLINK(1)", `"said;'=HYPERLINK(1)"`],
  ["said\t@SUM(1)", `"said\t'@SUM(1)"`],
  ["two\r\n-1", `"two\r\n'-1"`],
  ["\t=1", `"'\t'=1"`],
  ["one;two", `"one;two"`],
  ["a-b, c+d", `"a-b, c+d"`],
  [`{"note":"x;+1"}`, `"{""note"":""x;'+1""}"`]
])("%j is no formula in a spreadsheet, whichever separator it takes", (text, written) => {
  expect(csvLine([text])).toBe(written)
})

it("a negative number stays a number", () => {
  expect(csvLine([-5n, -1, null])).toBe("-5,-1,")
})

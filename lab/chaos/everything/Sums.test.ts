import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { parts, sums } from "./Sums.ts"

it("docs/reliability/chaos.md shows the sums of docs/reliability/kills.jsonl", () => {
  const page = readFileSync(join(import.meta.dirname, "..", "..", "..", "docs", "reliability", "chaos.md"), "utf8")
  const table = page.split("## Everything at once\n")[1]?.split("\n##")[0] ?? ""
  expect(table.split("\n").filter((line) => /^\| (?!What|---)/.test(line))).toEqual(sums(parts()))
})

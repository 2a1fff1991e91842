import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { expect, it } from "vitest"
import { bugs } from "./Bugs.ts"
import { RECORD, rows } from "./Record.ts"

const ROOT = resolve(import.meta.dirname, "..", "..")

it("every mistake of the list can still be planted: the text that it replaces occurs once", () => {
  const places = bugs.flatMap(({ edits, name }) =>
    edits.map(({ file, text }) => [name, file, readFileSync(join(ROOT, file), "utf8").split(text).length - 1] as const)
  )
  expect(places.filter(([, , count]) => count !== 1)).toStrictEqual([])
})

it("docs/reliability/mistakes.md shows what became of each mistake in docs/reliability/planted.json", () => {
  const page = readFileSync(join(ROOT, "docs", "reliability", "mistakes.md"), "utf8")
  const shown = page.split("\n| Mistake |")[1]?.trim().split("\n").slice(2)
  expect(shown).toEqual(rows(bugs, JSON.parse(readFileSync(RECORD, "utf8"))))
})

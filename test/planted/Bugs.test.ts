import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { expect, it } from "vitest"
import { bugs } from "./Bugs.ts"

const ROOT = resolve(import.meta.dirname, "..", "..")

it("every mistake of the list can still be planted: the text that it replaces occurs once", () => {
  const places = bugs.flatMap(({ edits, name }) =>
    edits.map(({ file, text }) => [name, file, readFileSync(join(ROOT, file), "utf8").split(text).length - 1] as const)
  )
  expect(places.filter(([, , count]) => count !== 1)).toStrictEqual([])
})

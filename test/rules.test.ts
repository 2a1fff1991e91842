import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { describe, expect, it } from "vitest"

const root = resolve(import.meta.dirname, "..")
const table = readFileSync(resolve(root, "docs", "rules.md"), "utf8")
const row = /^\| *(\d+) *\| [^|]+ \| ([^|]+) \|$/gm

/** How many numbered rules each part of the interface has. */
const numbered = {
  "General behaviours": 8,
  "Transaction record": 3,
  "Corridor row": 4,
  "POST /v1/collections": 5,
  "POST /v1/collections/{reference}/authorize": 4,
  "POST /v1/payouts": 9,
  "POST /v1/refunds": 5,
  "POST /v1/reference/resolve-bank-account": 3,
  Authentication: 8,
  Idempotency: 4
}

const sections = table
  .split("\n## ")
  .slice(1)
  .map((text) => ({ name: text.split("\n")[0] ?? "", rows: [...text.matchAll(row)] }))

const exists = (file: string, title: string): boolean => {
  const source = readFileSync(resolve(root, "test", `${file}.test.ts`), "utf8")
  return ['"', "`"].some((quote) => source.includes(`${quote}${title}`) || source.includes(`${title}${quote}`))
}

describe("the table of rules", () => {
  it("has every numbered rule of the interface, in its order", () => {
    const counted = sections.map(({ name, rows }) => [name, rows.map(([, number]) => Number(number))])
    const wanted = Object.entries(numbered).map(([name, count]) => [name, Array.from({ length: count }, (_, at) => at + 1)])
    expect(counted).toEqual(wanted)
  })

  it("names only tests that exist, at least one for each rule", () => {
    const missing = sections.flatMap(({ name, rows }) =>
      rows.flatMap(([, number, tests = ""]) => {
        const named = [...tests.matchAll(/`([\w/]+)` “([^”]+)”/g)]
        const absent = named.filter(([, file = "", title = ""]) => !exists(file, title)).map(([test]) => test)
        return named.length === 0 ? [`${name} ${number}: no test`] : absent.map((test) => `${name} ${number}: ${test}`)
      })
    )
    expect(missing).toEqual([])
  })
})

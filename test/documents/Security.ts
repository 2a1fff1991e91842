import { describe, expect, it } from "vitest"
import { type Run, runsIn, sumsOf } from "../../lab/fuzz/Runs.ts"
import { exists, found, read } from "./Pages.ts"

const asvs = read("docs/security/asvs.md")
const rows = [...asvs.matchAll(/^\| (\d+\.\d+\.\d+) \| (.+) \| (\w+) \| (.+) \|$/gm)].map(
  ([, number = "", , met = "", how = ""]) => ({
    number,
    met,
    how
  })
)
/** The test files that a text links, each with the titles behind it. */
const testsIn = (text: string) =>
  [...text.matchAll(/\]\((?:\.\.\/)+(test\/[\w/]+\.test\.ts)\)((?: (?:and )?“[^”]+”,?)*)/g)].map(
    ([, file = "", titles = ""]) => ({
      file,
      titles: [...titles.matchAll(/“([^”]+)”/g)].map(([, title = ""]) => title)
    })
  )
const absentIn = (text: string) =>
  testsIn(text).flatMap(({ file, titles }) =>
    exists(file) ? titles.filter((title) => !read(file).includes(title)).map((title) => `${file}: ${title}`) : [file]
  )

describe("docs/security", () => {
  it("names only tests that there are", () => {
    const pages = found("docs/security/*.md").map(read)
    expect(pages.flatMap(testsIn).length).toBeGreaterThan(100)
    expect(pages.flatMap(absentIn)).toEqual([])
  })

  it("names the headers that no signature covers among what is not defended", () => {
    const undefended = read("SECURITY.md").split("\n- **Headers outside the signature.**")[1]?.split("\n- **")[0] ?? ""
    for (const header of ["Idempotency-Key", "X-Confirm-Purge", "X-Audit-Reason", "Content-Type"])
      expect(undefended).toContain(`\`${header}\``)
  })

  it("says of each requirement of the ASVS once whether it is met", () => {
    const numbers = rows.map(({ number }) => number)
    expect(numbers.length).toBeGreaterThan(150)
    expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([])
    expect(rows.filter(({ how, met }) => !["yes", "part", "no", "operator"].includes(met) || how === "")).toEqual([])
  })

  it("has each of the ten risks of the API Security Top 10, with a test", () => {
    const risks = read("docs/security/api-top-10.md")
      .split(/^- \*\*/m)
      .slice(1)
    expect(risks.map((risk) => /^API(\d+)/.exec(risk)?.[1])).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"])
    expect(risks.filter((risk) => testsIn(risk).length === 0)).toEqual([])
  })
})

const runs = runsIn("docs/reliability/fuzz.jsonl")
/** Parts whose cases an earlier part of the same seed has played. */
const playedTwice = (all: ReadonlyArray<Run>) => {
  const parts = all.flatMap(({ parts, seed }) => parts.map(({ from, until, what }) => ({ from, until, kind: `${seed} ${what}` })))
  return parts.filter(({ from, kind, until }, at) =>
    parts.slice(0, at).some((other) => other.kind === kind && other.from < until && from < other.until)
  )
}

describe("the recorded fuzz runs", () => {
  it("have their sums on the page", () => {
    const written = new Map(
      [...read("docs/reliability/fuzzing.md").matchAll(/^\| ([a-z ]+) \| ([\d,]+) \|$/gm)].map(([, name = "", count = ""]) => [
        name,
        Number(count.replaceAll(",", ""))
      ])
    )
    expect(Object.entries(sumsOf(runs)).filter(([name, count]) => written.get(name) !== count)).toEqual([])
  })

  it("count no case of a seed twice", () => {
    expect(playedTwice(runs)).toEqual([])
  })

  it("are added up by kind and by provider, and compared by seed", () => {
    const part = { what: "callbacks", of: { mtn: 3 }, statuses: {}, slowestMs: 1, largestBytes: 1, found: 0 } as const
    const run = (seed: number, from: number): Run => ({
      date: "",
      commit: "",
      command: "",
      seed,
      seconds: 2,
      parts: [{ ...part, from, until: from + 10, requests: 10 }],
      ledger_ok: true,
      resident_megabytes: 1,
      found: 0
    })
    const sums = { runs: 2, seconds: 4, found: 0, requests: 20, callbacks: 20, "callbacks of mtn": 6 }
    expect(sumsOf([run(1, 0), run(1, 10)])).toEqual(sums)
    expect(playedTwice([run(1, 0), run(1, 10), run(2, 5)])).toEqual([])
    expect(playedTwice([run(1, 0), run(1, 9)]).length).toBe(1)
  })
})

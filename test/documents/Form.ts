import { describe, expect, it } from "vitest"
import { found, pages, prose, read } from "./Pages.ts"

const LINE_AT_MOST = 140
const FRONT_PAGE = { lines: 150, bytes: 10 * 1024 }

const all = [...pages, ...found("{src,test}/**/README.md")]
const isTable = (line: string): boolean => /^\s*\|/.test(line)
/** Names a test with its titles, which can be long. */
const isTestOfRule = (line: string): boolean => /^\s*- \[`test\//.test(line)
/** As it is read: without the address of a link. */
const shown = (line: string): string => line.replaceAll(/\]\([^)]*\)/g, "]")

describe("the form of the documents", () => {
  it(`has no line of prose over ${LINE_AT_MOST} characters`, () => {
    const long = all.flatMap((page) =>
      prose(read(page))
        .split("\n")
        .filter((line) => !isTable(line) && !isTestOfRule(line) && shown(line).length > LINE_AT_MOST)
        .map((line) => `${page}: ${line}`)
    )
    expect(long).toEqual([])
  })

  it("has no table that is padded with spaces or dashes", () => {
    const padded = all.flatMap((page) =>
      prose(read(page))
        .split("\n")
        .filter((line) => isTable(line) && / {2,}\||\| {2,}|-{4,}/.test(line))
        .map((line) => `${page}: ${line}`)
    )
    expect(padded).toEqual([])
  })

  it(`keeps the front page within ${FRONT_PAGE.lines} lines and ${FRONT_PAGE.bytes} bytes`, () => {
    const page = read("README.md")
    expect(page.split("\n").length).toBeLessThanOrEqual(FRONT_PAGE.lines)
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(FRONT_PAGE.bytes)
  })
})

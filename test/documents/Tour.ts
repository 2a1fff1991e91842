import { describe, expect, it } from "vitest"
import { read } from "./Pages.ts"

const FILES_AT_MOST = 14
const STOP = /^\d+\. \[`([^`]+)`\]\([^)]+\): ([^]+?)$/gm

/** A sentence ends before a space and a capital, or with its paragraph. */
const sentencesIn = (text: string): number => text.replaceAll(/`[^`]*`/g, "X").split(/[.](?=\s+[A-Z"]|\s*$)/).length - 1

const walks = read("docs/tour.md")
  .split("\n## ")
  .slice(1)
  .map((section) => {
    const paragraphs = section.replaceAll(/\n {2,}/g, " ")
    const stops = [...paragraphs.matchAll(STOP)].map(([, file = "", text = ""]) => ({ file, text }))
    return { name: section.split("\n")[0] ?? "", stops }
  })

describe("the tour", () => {
  it.each(walks)(`goes through $name in at most ${FILES_AT_MOST} files`, ({ stops }) => {
    expect(stops.length).toBeGreaterThan(5)
    expect(stops.length).toBeLessThanOrEqual(FILES_AT_MOST)
  })

  it("names no file twice, each with two sentences", () => {
    const stops = walks.flatMap((walk) => walk.stops)
    const files = stops.map(({ file }) => file)
    expect(walks.length).toBe(2)
    expect(files.filter((file, at) => files.indexOf(file) !== at)).toEqual([])
    expect(stops.filter(({ text }) => sentencesIn(text) !== 2)).toEqual([])
  })
})

import { describe, expect, it } from "vitest"
import { anchorsOf, exists, found, linksOf, pages, prose, read } from "./Pages.ts"

describe("the documents", () => {
  it("link to existing files and anchors", () => {
    const links = pages.flatMap(linksOf)
    const broken = links.filter(
      ({ anchor, path }) => !exists(path) || (anchor !== "" && path.endsWith(".md") && !anchorsOf(path).includes(anchor))
    )
    expect(links.length).toBeGreaterThan(500)
    expect(broken).toEqual([])
  })

  it("can be reached from the front page", () => {
    const reached = new Set(["README.md"])
    // A set's end moves while it grows.
    for (const page of reached) if (page.endsWith(".md")) for (const { path } of linksOf(page)) reached.add(path)
    expect(pages.filter((page) => !reached.has(page))).toEqual([])
  })

  it("name existing files, and so do comments", () => {
    const files = found("{src,test,lab,bench,deploy,clients}/**/*.{ts,js,json,yml}").concat(found("*.{ts,json}"))
    // What a reader saves an example as.
    const saved = found("docs/integrating/*.md").flatMap((page) =>
      [...read(page).matchAll(/^```\w+ (\S+)$/gm)].map(([, name = ""]) => name)
    )
    const isThere = (name: string): boolean =>
      saved.includes(name) || files.some((file) => file === name || file.endsWith(`/${name}`))
    const mentions = /(?<![\w/.*{}-])[\w-]+(?:\/[\w-]+)*(?:\.test|\.d)?\.ts\b/g
    const comments = (text: string): string => [...text.matchAll(/(?:^|\s)(?:\/\/|\/?\*).*$/gm)].join("\n")
    const texts = [
      ...pages.map((page) => [page, prose(read(page))] as const),
      ...found("{src,test,lab,bench}/**/*.ts").map((file) => [file, comments(read(file))] as const)
    ]
    const absent = texts.flatMap(([where, text]) =>
      [...text.matchAll(mentions)].filter(([name]) => !isThere(name)).map(([name]) => `${where}: ${name}`)
    )
    expect(absent).toEqual([])
  })
})

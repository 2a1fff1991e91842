import { describe, expect, it } from "vitest"
import { found, prose, read } from "./Pages.ts"

const about = ["README.md", "CONTRIBUTING.md", "docs/tour.md", "docs/design.md", "docs/adding-a-provider.md"]
const code = found("{src,test,lab,bench,clients}/**/*.{ts,js,sql}")
  .filter((path) => !path.includes("node_modules"))
  .map((path) => `${path}\n${read(path)}`)
  .join("\n")
const known = new Set(code.match(/\w+/g))

const COMMENT = /\/\*[^]*?\*\/|^\s*(?:\/\/|--).*$/gm
/** Names that no code of ours has: examples, and parts of Effect that are not used. */
const foreign = new Set(["NotFoundResponse", "PayoutResponse", "HttpApiBuilder", "FindMyWay"])

const quotations = (page: string): ReadonlyArray<string> =>
  [...prose(read(page)).matchAll(/`([^`\n]+)`/g)].map(([, quotation = ""]) => quotation)
/** A name as code writes it: with a capital or an underscore inside, or a capitalised word that stands alone. */
const namesIn = (quotation: string): ReadonlyArray<string> =>
  (quotation.match(/\w+/g) ?? []).filter(
    (word) => /[a-z][A-Z]|\w_\w/.test(word) || (word === quotation && /^[A-Z][a-z]+$/.test(word))
  )
const isCondition = (quotation: string): boolean => / [<>=]+ /.test(quotation) && !quotation.includes("npm ")

describe("the comments of the code", () => {
  it("name what there is", () => {
    const sources = found("src/**/*.{ts,sql}").map((path) => ({ path, text: read(path) }))
    const withoutComments = new Set(
      `${code.replaceAll(COMMENT, "")} ${code.match(/^\S+\.(?:ts|js|sql)$/gm)?.join(" ")}`.match(/\w+/g)
    )
    const absent = sources.flatMap(({ path, text }) =>
      [...text.matchAll(COMMENT)]
        .flatMap(([comment]) => comment.match(/\b[A-Z][a-z]+[A-Z]\w+\b/g) ?? [])
        .filter((name) => !withoutComments.has(name) && !foreign.has(name))
        .map((name) => `${path}: ${name}`)
    )
    expect(absent).toEqual([])
  })
})

describe("pages about the code", () => {
  it.each(about)("%s quotes names and conditions that the code has", (page) => {
    const absent = quotations(page).filter(
      (quotation) =>
        namesIn(quotation).some((name) => !known.has(name)) ||
        (isCondition(quotation) && !quotation.includes("…") && !code.includes(quotation))
    )
    expect(absent).toEqual([])
  })
})

import { describe, expect, it } from "vitest"
import { found, prose, read } from "./Pages.ts"

const about = ["README.md", "CONTRIBUTING.md", "docs/tour.md", "docs/design.md", "docs/adding-a-provider.md"]
const code = found("{src,test,lab,bench,clients}/**/*.{ts,js,sql}")
  .filter((path) => !path.includes("node_modules"))
  .map((path) => `${path}\n${read(path)}`)
  .join("\n")
const known = new Set(code.match(/\w+/g))

const quotations = (page: string): ReadonlyArray<string> =>
  [...prose(read(page)).matchAll(/`([^`\n]+)`/g)].map(([, quotation = ""]) => quotation)
/** A name as code writes it: with a capital or an underscore inside, or a capitalised word that stands alone. */
const namesIn = (quotation: string): ReadonlyArray<string> =>
  (quotation.match(/\w+/g) ?? []).filter(
    (word) => /[a-z][A-Z]|\w_\w/.test(word) || (word === quotation && /^[A-Z][a-z]+$/.test(word))
  )
const isCondition = (quotation: string): boolean => / [<>=]+ /.test(quotation) && !quotation.includes("npm ")

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

import { existsSync, globSync, readFileSync } from "node:fs"
import { join, relative, resolve, sep } from "node:path"

const root = resolve(import.meta.dirname, "..", "..")

export const read = (path: string): string => readFileSync(join(root, path), "utf8")
export const exists = (path: string): boolean => existsSync(join(root, path))
/** Paths from the project's root, with `/`. */
export const found = (pattern: string): ReadonlyArray<string> =>
  globSync(pattern, { cwd: root })
    .map((path) => path.replaceAll(sep, "/"))
    .toSorted()

/** Every page that people read. */
export const pages = [...found("docs/**/*.md"), "README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"]
export const contract = found("docs/contract/*.md")

/** The text without its examples, in which a bracket or a path is no link. */
export const prose = (text: string): string => text.replace(/^```[^]*?^```$/gm, "")

/** The examples of one language, as they stand on the page. */
export const examples = (text: string, language: string): ReadonlyArray<string> =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "gm"))].map(([, example = ""]) => example)

export interface Link {
  readonly page: string
  /** From the project's root. */
  readonly path: string
  readonly anchor: string
}

/** Links to files and anchors of the project; those to other sites are left out. */
export const linksOf = (page: string): ReadonlyArray<Link> =>
  [...prose(read(page)).matchAll(/\]\(([^()\s]*(?:\([^()\s]*\))?[^()\s]*)\)/g)].flatMap(([, target = ""]) => {
    if (/^[a-z]+:/.test(target)) return []
    const [path = "", anchor = ""] = target.split("#")
    const file = path === "" ? page : relative(root, resolve(root, page, "..", path)).replaceAll(sep, "/")
    return [{ page, path: file, anchor }]
  })

/** What a link's anchor can name: the explicit ones, and each heading in the form that hosts of Markdown give it. */
export const anchorsOf = (page: string): ReadonlyArray<string> => {
  const text = prose(read(page))
  const explicit = [...text.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id = ""]) => id)
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-")
  )
  return [...explicit, ...headings]
}

export interface Rule {
  readonly page: string
  readonly number: string
  /** Each test file that is named below it, with the titles. */
  readonly tests: ReadonlyArray<{ readonly file: string; readonly titles: ReadonlyArray<string> }>
}

const RULE = /^- <a id="([a-z]+-\d+)"><\/a>\*\*([A-Z]+-\d+)\.\*\* /
const TEST = /^ {2}- \[`([^`]+)`\]\(([^)]+)\) (.+)$/

/** The rules of a page of the contract, in their order. */
export const rulesOf = (page: string): ReadonlyArray<Rule> => {
  const rules: Array<Rule & { tests: Array<Rule["tests"][number]> }> = []
  for (const line of prose(read(page)).split("\n")) {
    const [, anchor, number] = RULE.exec(line) ?? []
    if (number !== undefined && anchor === number.toLowerCase()) rules.push({ page, number, tests: [] })
    const [, file, , titles] = TEST.exec(line) ?? []
    if (file === undefined || titles === undefined) continue
    rules.at(-1)?.tests.push({ file, titles: [...titles.matchAll(/“([^”]+)”/g)].map(([, title = ""]) => title) })
  }
  return rules
}

import type { ManualFile } from "./ManualFiles.ts"
import { escaped, header, LONGEST_SEARCH, opening, rooms } from "./ManualLook.ts"
import { anchorOf, titleOf } from "./ManualPage.ts"
import { isTree, type Tree, treeOf } from "./OpenApiSchemas.ts"

// Search over guides, contract, clients and reference. It runs on the server, so that it needs no script.

/** The section that a search result links to. */
interface Passage {
  /** Including its anchor. */
  readonly url: string
  readonly room: string
  readonly title: string
  /** The title of its page. */
  readonly page: string
  readonly text: string
}

interface Indexed extends Passage {
  readonly lowTitle: string
  readonly lowText: string
}
export type SearchIndex = ReadonlyArray<Indexed>

const MOST_WORDS = 6
const MOST_RESULTS = 30

/** Built once: every section of every page, every rule of the contract, and every operation. */
export const searchIndex = (files: ReadonlyArray<ManualFile>, description: Tree): SearchIndex =>
  [...files.filter(({ file }) => file.endsWith(".md")).flatMap(passagesOf), ...operationsOf(description)].map((passage) => ({
    ...passage,
    lowTitle: `${passage.title} ${passage.page}`.toLowerCase(),
    lowText: passage.text.toLowerCase()
  }))

/** The passages that contain every word; those with the words in their titles come first. */
export const found = (index: SearchIndex, words: ReadonlyArray<string>): ReadonlyArray<Passage> =>
  words.length === 0
    ? []
    : index
        .flatMap((one) => {
          const points = words.map((word) => (one.lowTitle.includes(word) ? 20 : 0) + Math.min(5, occurrences(one.lowText, word)))
          return points.includes(0) ? [] : [{ one, points: points.reduce((sum, more) => sum + more, 0) }]
        })
        .toSorted((a, b) => b.points - a.points)
        .slice(0, MOST_RESULTS)
        .map(({ one }) => one)

/** A form encodes a blank as a plus. */
export const wordsOf = (asked: string): ReadonlyArray<string> =>
  asked
    .slice(0, LONGEST_SEARCH)
    .toLowerCase()
    .split(/[\s+]+/)
    .filter(Boolean)
    .slice(0, MOST_WORDS)

/** The results as a page; without words it asks for some. */
export const searchPage = (index: SearchIndex, asked: string): string => {
  const words = wordsOf(asked)
  const results = found(index, words)
  const shown = asked.slice(0, LONGEST_SEARCH).replaceAll("+", " ")
  const said =
    words.length === 0
      ? "Type what you look for above."
      : results.length === 0
        ? `Nothing has all of “${shown}”. Try one word of it, or the name of a field.`
        : `${results.length === MOST_RESULTS ? `The first ${MOST_RESULTS}` : results.length} for “${shown}”`
  return `${opening("Search")}
${header(null, shown)}
<div class="page">
<main>
<h1>Search</h1>
<p class="none" role="status">${escaped(said)}</p>
<ol class="found">${results.map((one) => resultOf(one, words)).join("")}</ol>
</main>
</div>
</body>
</html>
`
}

const resultOf = ({ page, room, text, title, url }: Passage, words: ReadonlyArray<string>): string =>
  `<li><a href="${escaped(url)}">${marked(title, words)}</a><p>${marked(excerpt(text, words), words)}</p><small>${escaped(page === title ? room : `${room} · ${page}`)}</small></li>\n`

const occurrences = (text: string, word: string): number => text.split(word, 6).length - 1

/** In characters. */
const BEFORE = 60
const EXCERPT = 220

const excerpt = (text: string, words: ReadonlyArray<string>): string => {
  const first = Math.max(
    0,
    Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0), text.length)
  )
  const start = first === text.length ? 0 : Math.max(0, first - BEFORE)
  const blank = text.indexOf(" ", start) + 1
  const from = start === 0 || blank === 0 || blank > first ? start : blank
  const cut = text.slice(from, from + EXCERPT)
  return `${from === 0 ? "" : "… "}${cut}${from + EXCERPT < text.length ? " …" : ""}`
}

const marked = (text: string, words: ReadonlyArray<string>): string => {
  const pattern = new RegExp(`(${words.map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|")})`, "gi")
  return text
    .split(pattern)
    .map((part, at) => (at % 2 === 1 ? `<mark>${escaped(part)}</mark>` : escaped(part)))
    .join("")
}

const RULE = /^- <a id="([\w-]+)"><\/a>\*\*([\w-]+)\.\*\*/m

/** The sections of a page, and the rules in them. */
const passagesOf = (file: ManualFile): ReadonlyArray<Passage> => {
  const page = titleOf(file)
  const room = rooms.find(({ at }) => file.path === at || file.path.startsWith(`${at}/`))?.title ?? ""
  return file.text.split(/^(?=#{1,3} )/m).flatMap((section) => {
    const [, heading = page] = /^#{1,3} (.+)/.exec(section) ?? []
    const own = section.split(/^(?=- <a id=)/m)
    return own.map((part) => {
      const rule = RULE.exec(part)
      const title = rule === null ? plain(heading) : `${rule[2]}`
      const anchor = rule === null ? anchorOf(heading) : `${rule[1]}`
      const text = plain(part.replace(/^#+ .+\n/, "").replace(RULE, ""))
      return { url: heading === page && rule === null ? file.path : `${file.path}#${anchor}`, room, title, page, text }
    })
  })
}

const plain = (markdown: string): string =>
  markdown
    // The reference already documents the members of responses.
    .replaceAll(/^```json\n[^]*?^```$/gm, "")
    .replaceAll(/^```.*$/gm, "")
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/<a [^>]*><\/a>|\*\*|`/g, "")
    .replaceAll(/^\|[ -|]+\|$/gm, "")
    .replaceAll(/\s*\|\s*/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()

/** Links to where Scalar's page shows an operation. */
const operationsOf = (description: Tree): ReadonlyArray<Passage> =>
  Object.entries(treeOf(description["paths"])).flatMap(([path, item]) =>
    Object.entries(treeOf(item)).flatMap(([method, operation]) => {
      const { description: about = "", requestBody, responses, summary = "", tags } = treeOf(operation)
      const [tag = ""] = Array.isArray(tags) ? tags.map(String) : []
      const success = Object.entries(treeOf(responses)).filter(([status]) => status.startsWith("2"))
      const members = new Set<string>()
      gather(description, [requestBody, success.map(([, response]) => response)], members)
      return {
        url: `/docs#tag/${tag.toLowerCase().replaceAll(" ", "-")}/${method.toUpperCase()}${path}`,
        room: "Reference",
        title: `${summary}`,
        page: `${method.toUpperCase()} ${path}`,
        text: plain(`${about} ${[...members].join(" ")}`)
      }
    })
  )

/** Collects the member names of a schema and of the schemas that it refers to. */
const gather = (document: Tree, node: unknown, members: Set<string>): void => {
  if (Array.isArray(node)) return node.forEach((one) => gather(document, one, members))
  if (!isTree(node)) return
  const { $ref, properties, ...rest } = node
  if (typeof $ref === "string" && !members.has($ref)) {
    members.add($ref)
    gather(document, treeOf(treeOf(document["components"])["schemas"])[$ref.split("/").at(-1) ?? ""], members)
  }
  for (const [name, inner] of Object.entries(treeOf(properties))) {
    members.add(name)
    gather(document, inner, members)
  }
  for (const inner of [rest["items"], rest["anyOf"], rest["oneOf"], rest["allOf"], rest["content"], rest["schema"]])
    gather(document, inner, members)
  const json = rest["application/json"]
  if (json !== undefined) gather(document, json, members)
}

import { posix } from "node:path"
import { Marked, type Token, type Tokens } from "marked"
import { coloured, indented } from "./ManualCode.ts"
import type { ManualFile } from "./ManualFiles.ts"
import { targetOf } from "./ManualLinks.ts"
import { escaped, header, LANGUAGES, manualScript, opening, rooms } from "./ManualLook.ts"

/** A Markdown file as a page that works without its script. `all`: the whole manual; any other link becomes text. */
export const manualPage = (page: ManualFile, all: ReadonlyArray<ManualFile>): string => {
  const room = rooms.find(({ at }) => isIn(at, page))
  const siblings = room === undefined ? [] : pagesOf(room.at, all)
  const here = siblings.indexOf(page)
  const { headings, html } = rendered(page, all)
  const outline = headings.filter(({ depth }) => depth === 2 || depth === 3)
  return `${opening(titleOf(page))}
${header(room?.at ?? null)}
<div class="page">
${outline.length < 2 ? "" : `<nav class="outline" aria-label="On this page"><p>On this page</p>${outline.map(({ depth, id, label }) => `<a href="#${id}"${depth === 3 ? ' class="deep"' : ""}>${label}</a>`).join("")}</nav>`}
<main>
${html}
<footer><span>${neighbour("Before", siblings[here - 1])}</span><span>${neighbour("Next", siblings[here + 1])}</span></footer>
</main>
<nav class="pages" aria-label="${room?.title ?? "Pages"}"><p>${room?.title ?? ""}</p>${siblings.map((one) => linkTo(one, one === page)).join("")}</nav>
</div>
<script>${manualScript}</script>
</body>
</html>
`
}

/** A heading that links can lead to. */
interface Heading {
  readonly depth: number
  readonly id: string
  /** As HTML, without links. */
  readonly label: string
}

/** The page's text as HTML, and its headings, except those that name a language. */
const rendered = (page: ManualFile, all: ReadonlyArray<ManualFile>) => {
  const headings: Array<Heading> = []
  const marked = rendererOf(page, all, headings)
  const parts = partsOf(marked.lexer(page.text))
  const html = parts.map((part, at) => (part.kind === "text" ? marked.parser(part.tokens) : tabs(marked, part, at))).join("")
  return { headings: headings.filter(({ label }) => !isLanguage(label)), html }
}

interface Tabs {
  readonly kind: "tabs"
  readonly languages: Array<{ readonly name: string; readonly tokens: Array<Token> }>
}
type Part = { readonly kind: "text"; readonly tokens: Array<Token> } | Tabs

const namesIn = (heading: string) => LANGUAGES.filter((name) => new RegExp(`\\b${name}\\b`).test(heading))
const isLanguage = (heading: string): boolean => new RegExp(`^(The \\w+ in )?(${LANGUAGES.join("|")})( and \\w+)?$`).test(heading)

/** Splits the page's tokens into parts. Consecutive headings of depth 3 that name languages become one part with a tab for each. */
const partsOf = (tokens: ReadonlyArray<Token>): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  for (const token of tokens) {
    const last = parts.at(-1)
    if (token.type === "heading" && token["depth"] === 3 && isLanguage(String(token["text"]))) {
      const tab = { name: String(token["text"]), tokens: [token] }
      if (last?.kind === "tabs") last.languages.push(tab)
      else parts.push({ kind: "tabs", languages: [tab] })
    } else if (last?.kind === "tabs" && !(token.type === "heading" && token["depth"] <= 3))
      last.languages.at(-1)?.tokens.push(token)
    else if (last?.kind === "text") last.tokens.push(token)
    else parts.push({ kind: "text", tokens: [token] })
  }
  return parts
}

const tabs = (marked: Marked, { languages }: Tabs, at: number): string => {
  const choice = languages.map(({ name }, index) => {
    const names = namesIn(name)
    return `<label><input type="radio" name="tabs-${at}" value="${names[0]}" data-names="${names.join(" ")}"${index === 0 ? " checked" : ""}>${names.join(" and ")}</label>`
  })
  const sections = languages.map(
    ({ name, tokens }) => `<section data-language="${namesIn(name)[0]}">${marked.parser(tokens)}</section>`
  )
  return `<fieldset class="tabs"><legend>Language</legend><div class="choice">${choice.join("")}</div>${sections.join("")}</fieldset>\n`
}

export const titleOf = ({ file, text }: ManualFile): string => /^# (.+)$/m.exec(text)?.[1] ?? file

const isIn = (at: string, { path }: ManualFile): boolean => path === at || path.startsWith(`${at}/`)

/** The pages of a folder in the order in which its README names them; the README is first. */
const pagesOf = (at: string, all: ReadonlyArray<ManualFile>): ReadonlyArray<ManualFile> => {
  const own = all.filter((one) => one.file.endsWith(".md") && isIn(at, one))
  const readme = own.find(({ path }) => path === at)
  const places = new Map(own.map((one) => [one, one === readme ? -1 : place(one, readme)]))
  return own.toSorted((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0))
}

const place = ({ file }: ManualFile, readme: ManualFile | undefined): number => {
  const found = readme?.text.indexOf(`](${posix.basename(file)})`) ?? -1
  return found < 0 ? Number.MAX_SAFE_INTEGER : found
}

const linkTo = (page: ManualFile, isCurrent: boolean): string =>
  `<a href="${page.path}"${isCurrent ? ' aria-current="page"' : ""}>${escaped(titleOf(page))}</a>`

const neighbour = (label: string, page: ManualFile | undefined): string =>
  page === undefined ? "" : `${label}: ${linkTo(page, false)}`

const rendererOf = (page: ManualFile, all: ReadonlyArray<ManualFile>, headings: Array<Heading>): Marked =>
  new Marked({
    gfm: true,
    renderer: {
      heading({ depth, text, tokens }: Tokens.Heading) {
        const [own, label] = [anchorOf(text), escaped(text.replaceAll(/\[([^\]]*)\]\([^)]*\)|`/g, "$1"))]
        const before = headings.filter(({ id }) => id.replace(/-\d+$/, "") === own).length
        const id = before === 0 ? own : `${own}-${before}`
        headings.push({ depth, id, label })
        return `<h${depth} id="${id}"><a href="#${id}">${this.parser.parseInline(tokens)}</a></h${depth}>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        const label = this.parser.parseInline(tokens)
        const target = targetOf(href, page, all, ({ path }) => path)
        return "url" in target ? `<a href="${escaped(target.url)}">${label}</a>` : unserved(target.unserved, label)
      },
      // A long code may break after its underscores, so that table columns stay narrow.
      codespan({ text }: Tokens.Codespan) {
        return `<code>${escaped(text).replaceAll("_", "_<wbr>")}</code>`
      },
      // The first word after the fence is the language; a second one is the file name under which the reader saves the example.
      code({ lang = "", text }: Tokens.Code) {
        const [kind = "", name] = lang.split(/\s+/)
        const isAnswer = name === undefined && (kind === "json" || kind === "text")
        const shape = isAnswer ? ' class="answer"' : ""
        const shown = isAnswer && kind === "json" ? indented(text) : text
        const caption = name === undefined ? "" : `<figcaption><code>${escaped(name)}</code></figcaption>`
        return `<figure>${caption}<pre${shape} tabindex="0"><code>${coloured(kind, shown)}</code></pre></figure>\n`
      },
      table(token: Tokens.Table) {
        const rows = [token.header, ...token.rows].map((cells, at) => {
          const tag = at === 0 ? "th" : "td"
          return `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join("")}</tr>`
        })
        return `<div class="wide" tabindex="0"><table>${rows.join("\n")}</table></div>\n`
      }
    }
  })

/** As Markdown hosts build it, so that a link works there and here. */
export const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")

/** The label, and the file's place in the repository unless the label contains it. */
const unserved = (file: string, label: string): string =>
  label.includes(file) ? label : `${label} (<code>${escaped(file)}</code> in the gateway's repository)`

import { posix } from "node:path"
import { Marked, type Tokens } from "marked"
import type { ManualFile } from "./ManualFiles.ts"
import { targetOf } from "./ManualLinks.ts"

export const manualStyle = `
:root { color-scheme: light dark; --line: #8885; --soft: #8882; --link: light-dark(#0a58b8, #8ab8ff); }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; display: grid; grid-template-columns: 15rem minmax(0, 54rem); gap: 0 2.5rem; padding: 0 1.25rem 4rem; }
nav { position: sticky; top: 0; max-height: 100vh; overflow: auto; scrollbar-width: thin; padding: 1.25rem 0; font-size: 15px; }
nav a { display: block; padding: .15rem 0; color: inherit; text-decoration: none; }
nav a:hover, nav a:focus-visible { text-decoration: underline; } nav a[aria-current] { font-weight: 700; }
nav p { margin: .9rem 0 .2rem; font-size: 13px; opacity: .75; }
main { padding: 1.25rem 0; overflow-wrap: break-word; }
a { color: var(--link); } h1, h2, h3 { line-height: 1.25; margin: 2rem 0 .6rem; } h1 { margin-top: 0; }
h1 a, h2 a, h3 a { color: inherit; text-decoration: none; } h2 a:hover::after, h3 a:hover::after { content: " #"; opacity: .5; }
:target { scroll-margin-top: 1rem; background: var(--soft); }
code, pre { font: 14px/1.5 ui-monospace, monospace; } code { background: var(--soft); border-radius: 3px; padding: .05rem .25rem; overflow-wrap: anywhere; }
pre { background: var(--soft); border-radius: 5px; padding: .75rem .9rem; overflow-x: auto; margin: .4rem 0 1rem; } pre code { background: none; padding: 0; overflow-wrap: normal; }
.answer { white-space: pre-wrap; } .answer code { overflow-wrap: anywhere; } figure { margin: 1rem 0; } figcaption { font-size: 13px; opacity: .75; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .5rem 0 1rem; font-size: 15px; }
td, th { text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); padding: .35rem .9rem .35rem 0; }
td code { overflow-wrap: normal; }
footer { border-top: 1px solid var(--line); margin-top: 3rem; padding-top: 1rem; display: flex; justify-content: space-between; gap: 1rem; }
@media (max-width: 50rem) { body { display: block; padding: 0 1rem 3rem; } nav { position: static; max-height: none; padding-bottom: 0; border-bottom: 1px solid var(--line); }
  nav a { display: inline-block; margin-right: .9rem; padding: .3rem 0; } nav p { margin: .5rem 0 0; }
  .room:not(:has([aria-current])) a ~ a { display: none; } }
`

/** Where readers go from every page. */
const rooms = [
  { title: "Integrating", at: "/docs/integrating" },
  { title: "The contract", at: "/docs/contract" },
  { title: "Clients", at: "/docs/clients" }
] as const
const reference = `<a href="/docs">API reference</a><a href="/openapi.json">openapi.json</a>`

/** A Markdown file as a page that needs no script. `all` is the whole manual: what is linked from the page and is not in it stays text. */
export const manualPage = (page: ManualFile, all: ReadonlyArray<ManualFile>): string => {
  const pages = rooms.map((room) => ({ ...room, pages: pagesOf(room.at, all) }))
  const siblings = pages.find(({ at }) => isIn(at, page))?.pages ?? []
  const here = siblings.indexOf(page)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(titleOf(page))} · Payment gateway</title>
<link rel="icon" href="data:,">
<style>${manualStyle}</style>
</head>
<body>
<nav aria-label="Pages">${pages.map(({ pages, title }) => `<div class="room"><p>${title}</p>${pages.map((one) => linkTo(one, one === page)).join("")}</div>`).join("")}<p>Reference</p>${reference}</nav>
<main>
${rendererOf(page, all).parse(page.text, { async: false })}
<footer><span>${neighbour("Before", siblings[here - 1])}</span><span>${neighbour("Next", siblings[here + 1])}</span></footer>
</main>
</body>
</html>
`
}

export const titleOf = ({ file, text }: ManualFile): string => /^# (.+)$/m.exec(text)?.[1] ?? file

const isIn = (at: string, { path }: ManualFile): boolean => path === at || path.startsWith(`${at}/`)

/** The pages of a folder in the order in which its README names them, which comes first. */
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

const rendererOf = (page: ManualFile, all: ReadonlyArray<ManualFile>): Marked =>
  new Marked({
    gfm: true,
    renderer: {
      heading({ depth, text, tokens }: Tokens.Heading) {
        const id = anchorOf(text)
        return `<h${depth} id="${id}"><a href="#${id}">${this.parser.parseInline(tokens)}</a></h${depth}>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        const label = this.parser.parseInline(tokens)
        const target = targetOf(href, page, all, ({ path }) => path)
        return "url" in target ? `<a href="${escaped(target.url)}">${label}</a>` : unserved(target.unserved, label)
      },
      // A long code may break after its underscores, so that a table keeps room for its sentences.
      codespan({ text }: Tokens.Codespan) {
        return `<code>${escaped(text).replaceAll("_", "_<wbr>")}</code>`
      },
      // The first word after the fence is the language; a second one is the name under which the reader saves the example.
      code({ lang = "", text }: Tokens.Code) {
        const [kind = "", name] = lang.split(/\s+/)
        const shape = kind === "json" || kind === "text" ? ' class="answer"' : ""
        const caption = name === undefined ? "" : `<figcaption><code>${escaped(name)}</code></figcaption>`
        return `<figure>${caption}<pre${shape} tabindex="0"><code>${escaped(text)}</code></pre></figure>\n`
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

/** As hosts of Markdown make it, so that a link works in both places. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")

/** The label, and where the file is in the repository unless the label says so. */
const unserved = (file: string, label: string): string =>
  label.includes(file) ? label : `${label} (<code>${escaped(file)}</code> in the gateway's repository)`

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

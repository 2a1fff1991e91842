import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { indented } from "../../../src/http/description/ManualCode.ts"
import { readManual } from "../../../src/http/description/ManualFiles.ts"
import { escaped, manualScript } from "../../../src/http/description/ManualLook.ts"
import { manualPage, titleOf } from "../../../src/http/description/ManualPage.ts"

const files = await Effect.runPromise(readManual())
const pages = files.filter(({ file }) => file.endsWith(".md")).map((page) => ({ ...page, html: manualPage(page, files) }))
const textOf = (html: string) => html.replaceAll(/<\/?span[^>]*>/g, "")
const linksIn = (html: string) => [...html.matchAll(/ href="([^"]+)"/g)].map(([, href = ""]) => href)

describe("a page of the manual", () => {
  it("is a whole document that needs no other host, and no script but for what it can do without", () => {
    expect(pages.length).toBeGreaterThan(20)
    for (const { file, html } of pages) {
      expect(html, file).toMatch(/^<!doctype html>\n<html lang="en">/)
      expect(html, file).not.toMatch(/<script (?!>)|<img|<link rel="stylesheet"| on\w+=| style=/)
      expect(html.match(/<script>[^]*?<\/script>/g), file).toEqual([`<script>${manualScript}</script>`])
      expect(html.match(/<h1 /g), file).toHaveLength(1)
    }
  })

  it("links to pages and anchors that are served, and to nothing else here", () => {
    const anchors = new Set(
      pages.flatMap(({ html, path }) => [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => `${path}#${id}`))
    )
    const served = new Set([...files.map(({ path }) => path), "/docs", "data:,"])
    const dead = pages.flatMap(({ html, path }) =>
      linksIn(html)
        .filter((href) => !href.startsWith("https://"))
        .map((href) => (href.startsWith("#") ? `${path}${href}` : href))
        .filter((href) => !(href.includes("#") ? anchors.has(href) : served.has(href)))
        .map((href) => `${path}: ${href}`)
    )
    expect(dead).toEqual([])
  })

  it("says where a file is that is not served, and links none", () => {
    const clients = pages.find(({ path }) => path === "/docs/integrating/clients")?.html ?? ""
    expect(clients).toContain("its tests (<code>test/clients/Faults.test.ts</code> in the gateway's repository)")
    expect(clients).not.toContain("../../")
    const about = pages.find(({ path }) => path === "/docs/contract")?.html ?? ""
    expect(about).toContain("glossary (<code>docs/glossary.md</code> in the gateway's repository)")
  })

  it("comes in the order of its README, with the one before and the one after", () => {
    const start = pages.find(({ path }) => path === "/docs/integrating/start")
    const footer = start?.html.split("<footer>")[1]?.split("</footer>")[0] ?? ""
    expect(linksIn(footer)).toEqual(["/docs/integrating", "/docs/integrating/signing"])
    expect(start === undefined ? "" : titleOf(start)).toBe("Start")
  })

  it("breaks a long code only after an underscore, and shows it unchanged", () => {
    const errors = pages.find(({ path }) => path === "/docs/integrating/errors")?.html ?? ""
    expect(errors).toContain("<code>amount_<wbr>below_<wbr>minimum</code>")
    expect(errors.match(/<code>[^<]*_[^<]*<\/code>(?!<\/pre>)/g)).toEqual(null)
  })

  it("shows examples as text, with the name under which they are saved", () => {
    const start = pages.find(({ path }) => path === "/docs/integrating/start")?.html ?? ""
    expect(start).toContain("<figcaption><code>receiver.php</code></figcaption>")
    expect(textOf(start)).toContain("&lt;?php\nrequire 'webhook.php';")
  })

  it("names no page twice in one navigation, and the contract on every page", () => {
    for (const { file, html } of pages)
      for (const [, navigation = ""] of html.matchAll(/<nav [^>]*>([^]*?)<\/nav>/g)) {
        const links = linksIn(navigation)
        expect(new Set(links).size, file).toBe(links.length)
        if (links.includes("/docs")) expect(links, file).toContain("/docs/contract")
      }
  })

  it("has the same example in several languages behind tabs, and links that lead into each", () => {
    const start = pages.find(({ path }) => path === "/docs/integrating/start")?.html ?? ""
    expect(start).toContain('name="tabs-1" value="Go" data-names="Go Java">Go and Java</label>')
    expect(start.match(/<section data-language="\w+"><h3 id="[\w-]+"/g)).toHaveLength(7)
    expect(start.split('<nav class="outline"')[1]?.split("</nav>")[0]).not.toContain("#python")
    for (const { file, html } of pages) {
      const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
      expect(new Set(ids).size, file).toBe(ids.length)
    }
  })

  it("shows an answer with a member a line, and every other example as it is written", () => {
    expect(
      indented(
        '{"code":200,"message":"ok","data":{"n":12345678901234567890,"s":"a, {\\"b\\": 1.50}","none":[],"long":["aaaaaaaaaaaaaaaaaaaaaa"]}}'
      )
    ).toBe(
      `{
  "code": 200,
  "message": "ok",
  "data": {
    "n": 12345678901234567890,
    "s": "a, {\\"b\\": 1.50}",
    "none": [],
    "long": ["aaaaaaaaaaaaaaaaaaaaaa"]
  }
}`
    )
    expect(indented("{amount_minor, at}\n")).toBe("{amount_minor, at}\n")
    for (const { file, html, text } of pages) {
      const written = [...text.matchAll(/^```(.*)\n([^]*?)\n?^```$/gm)].map(([, kind, code = ""]) =>
        kind === "json" ? indented(code) : code
      )
      const shown = [...html.matchAll(/<pre[^>]*><code>([^]*?)<\/code><\/pre>/g)].map(([, code = ""]) => textOf(code))
      expect(shown, file).toEqual(written.map(escaped))
    }
  })
})

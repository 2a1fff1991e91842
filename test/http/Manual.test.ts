import { execFileSync } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { readManual } from "../../src/http/description/ManualFiles.ts"
import { manualScript, manualStyle } from "../../src/http/description/ManualLook.ts"
import { sourceHash } from "../../src/http/description/StaticText.ts"
import { read } from "../documents/Pages.ts"
import { onEdge } from "../support/EdgeClient.ts"
import { itWith } from "../support/Installed.ts"

const ROOT = resolve(import.meta.dirname, "..", "..")
const HOST = ["Host", "api.gateway.example"] as const
const files = await Effect.runPromise(readManual())

describe("the manual below /docs", () => {
  it(
    "is served without a signature, to its own origin only, and runs nothing but its own",
    onEdge(async ({ ask }) => {
      expect(files.length).toBeGreaterThan(25)
      // Names with spaces are no URLs: Bruno's files are in the archive only.
      for (const { path } of files.filter((one) => !one.file.endsWith(".bru"))) {
        const answer = await ask("GET", path)
        expect([answer.status, answer.headers["cross-origin-resource-policy"]], path).toEqual([200, "same-origin"])
        expect(answer.headers["content-security-policy"]).toBe(
          `default-src 'none'; style-src ${sourceHash(manualStyle)}; script-src ${sourceHash(manualScript)}; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`
        )
        expect((await ask("GET", path, [HOST, ["Origin", "https://evil.example"]])).status, path).toBe(403)
      }
    })
  )

  it(
    "has each page as Markdown, by the name of its file, whose links lead to what is served",
    onEdge(async ({ ask }) => {
      const isServed = new Map<string, boolean>()
      for (const { file, text } of files.filter((one) => one.file.endsWith(".md"))) {
        const answer = await ask("GET", file.startsWith("docs/") ? `/${file}` : `/docs/${file}`)
        expect(answer.headers["content-type"], file).toBe("text/plain; charset=utf-8")
        const code = (page: string) => page.match(/^```[^]*?^```$/gm)
        expect([answer.text.split("\n").length, code(answer.text)], file).toEqual([text.split("\n").length, code(text)])
        for (const [, href = ""] of answer.text.matchAll(/\]\((?!https?:|#)([^)\s#]+)[^)\s]*\)/g)) {
          if (!isServed.has(href)) isServed.set(href, href.startsWith("/") && (await ask("GET", href)).status === 200)
          expect(isServed.get(href), `${file}: ${href}`).toBe(true)
        }
      }
      for (const room of ["integrating", "contract"]) {
        const readme = await ask("GET", `/docs/${room}/README.md`)
        expect((await ask("GET", `/docs/${room}.md`)).text).toBe(readme.text)
      }
    })
  )

  it(
    "has the contract without the tests of its rules, which nobody could open",
    onEdge(async ({ ask }) => {
      const page = await ask("GET", "/docs/contract/payouts.md")
      expect(page.text).toContain("**PAY-10.**")
      expect(page.text).not.toContain(".test.ts")
    })
  )

  it(
    "has the signing code and the vectors as they are in the repository",
    onEdge(async ({ ask }) => {
      for (const file of ["sign.py", "sign.php", "sign.ts", "sign.go", "Sign.java"]) {
        const answer = await ask("GET", `/docs/clients/signing/${file}`)
        expect(answer.text).toBe(read(`clients/signing/${file}`))
        expect(answer.headers["content-type"]).toBe("text/plain; charset=utf-8")
      }
      const vectors = await ask("GET", "/docs/integrating/signing-vectors.json")
      expect(JSON.parse(vectors.text).length).toBeGreaterThan(300)
    })
  )

  it(
    "has all clients as one archive, byte for byte, which tar unpacks",
    onEdge(async ({ port }) => {
      const folder = await mkdtemp(join(tmpdir(), "payment-gateway-clients-"))
      const archive = await fetch(`http://127.0.0.1:${port}/docs/clients.tar`)
      expect([archive.status, archive.headers.get("content-type")]).toEqual([200, "application/x-tar"])
      execFileSync("tar", ["-x", "-C", folder], { input: Buffer.from(await archive.arrayBuffer()) })
      const clients = files.filter(({ file }) => file.startsWith("clients/"))
      for (const { file, text } of clients) expect(await readFile(join(folder, file), "utf8"), file).toBe(text)
      await rm(folder, { recursive: true })
    })
  )

  itWith(
    "git",
    "-C",
    ROOT,
    "rev-parse"
  )("has every file of the clients that the repository has, and no other", () => {
    const kept = execFileSync("git", ["ls-files", "clients"], { cwd: ROOT, encoding: "utf8" }).trim().split("\n")
    expect(files.flatMap(({ file }) => (file.startsWith("clients/") ? [file] : [])).toSorted()).toEqual(kept.toSorted())
  })

  it(
    "is searched on the server, in guides, contract and reference, and what is asked is shown as text",
    onEdge(async ({ ask }) => {
      const search = (words: string) => ask("GET", `/docs/search?q=${encodeURIComponent(words)}`)
      const linksOf = ({ text }: { readonly text: string }) =>
        [...(text.split('<ol class="found">')[1] ?? "").matchAll(/<a href="([^"]+)"/g)].map(([, href]) => href)
      expect(linksOf(await search("insufficient_tenant_float"))).toContain("/docs/contract/exchanges#fx-7")
      expect(linksOf(await search("pay-10"))[0]).toBe("/docs/contract/payouts#pay-10")
      expect(linksOf(await search("rotate  SECRET"))).toEqual(
        expect.arrayContaining(["/docs#tag/webhooks/POST/v1/webhooks/endpoint/rotate-secret"])
      )
      // As the page's own form writes a blank.
      expect((await ask("GET", "/docs/search?q=float+alert")).text).toBe((await search("float alert")).text)
      expect(linksOf(await search("float alert")).length).toBeGreaterThan(0)
      const hostile = await search(`"><script>alert(1)</script>(?:.*)+$\\`)
      expect(hostile.status).toBe(200)
      expect(hostile.text).not.toContain("<script>alert")
      expect(linksOf(hostile)).toEqual([])
      expect((await search("x".repeat(2_000))).status).toBe(200)
      expect((await ask("GET", "/docs/search")).text).toContain("Type what you look for")
      expect((await ask("GET", "/docs/search?q=a&q=b")).status).toBe(422)
      expect((await ask("GET", "/docs/search?q=a", [HOST, ["Origin", "https://evil.example"]])).status).toBe(403)
      expect(hostile.headers["cross-origin-resource-policy"]).toBe("same-origin")
    })
  )

  it(
    "is where the gateway's bare address leads",
    onEdge(async ({ ask }) => {
      const answer = await ask("GET", "/")
      expect([answer.status, answer.headers["location"], JSON.parse(answer.text)]).toEqual([
        302,
        "/docs",
        { code: 302, message: "ok", data: { docs: "/docs", integrating: "/docs/integrating", openapi: "/openapi.json" } }
      ])
    })
  )

  it(
    "answers the envelope for a page that is not there, whatever its name",
    onEdge(async ({ ask }) => {
      for (const path of [
        "/docs/integrating/none",
        "/docs/contract/..",
        "/docs/integrating/",
        "/docs/clients/signing/vectors",
        "/docs/clients"
      ]) {
        const answer = await ask("GET", path)
        expect([answer.status, JSON.parse(answer.text).error.code], path).toEqual([404, "not_found"])
      }
      expect((await ask("POST", "/docs/integrating")).status).toBe(405)
    })
  )

  it("stops the start with the folder's name where it is not installed", async () => {
    const failure = await Effect.runPromise(Effect.flip(readManual(tmpdir())))
    expect(failure.message).toMatch(
      /^cannot read (docs|clients)\/\w+, which the gateway serves below \/docs \(ENOENT.*\); install/
    )
  })
})

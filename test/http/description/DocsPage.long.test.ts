import { createHash } from "node:crypto"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { ManagedRuntime } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { docsPage, docsScript, docsStyle } from "../../../src/http/description/DocsPage.ts"
import { sourceHash } from "../../../src/http/description/StaticText.ts"
import sums from "../../../src/http/description/vendor/scalar/sums.json" with { type: "json" }
import { type BrowserPage, CHROMIUM, openBrowser, type Screen } from "../../support/Browser.ts"
import { onEdge } from "../../support/EdgeClient.ts"
import { edge, port } from "../../support/EdgeServer.ts"
import { itWith } from "../../support/Installed.ts"

const PAYOUT = "#tag/payouts/POST/v1/payouts"
const section = `document.querySelector('section[id$="tag/payouts/POST/v1/payouts"]')`
const isDrawn = `document.body.innerText.includes("X-Gateway-Signature")`
const isAtThePayout = `(() => {
  const top = ${section}?.getBoundingClientRect().top ?? Infinity
  return ${section}?.innerText.includes("deduct_fee_from_amount") && top > -200 && top < 400
})()`
const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
/** Whether the background has little of each color. */
const isDark = `getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).slice(0, 3).every((part) => Number(part) < 64)`

const desktop = { width: 1280, height: 900 }
const phone = { width: 390, height: 844 }

/** With `DOCS_PICTURES=FOLDER` what the page looked like is kept, for somebody to look at. */
const keep = async (page: BrowserPage, name: string) => {
  const folder = process.env["DOCS_PICTURES"]
  if (folder === undefined) return
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${name}.png`), await page.picture())
}

const runtime = ManagedRuntime.make(edge().layer)
let browser: ReturnType<typeof openBrowser> | undefined
afterAll(async () => {
  await (await browser)?.close()
  await runtime.dispose()
})

/** Runs a story in a page, of the one browser and on the one gateway. */
const inPage = (story: (page: BrowserPage, origin: string) => Promise<void>) => async () => {
  browser ??= openBrowser()
  await story((await browser).page, `http://127.0.0.1:${await runtime.runPromise(port)}`)
}

describe("the page /docs", () => {
  it(
    "runs and uses nothing but its own and the gateway's files",
    onEdge(async ({ ask }) => {
      const page = await ask("GET", "/docs")
      expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"])
      expect(page.text).toBe(docsPage)
      expect(page.text.match(/(?:src|href)="[^"]*"/g)).toSatisfy((links: ReadonlyArray<string>) =>
        links.every((link) => /="(\/docs|\/openapi\.json|data:)/.test(link))
      )
      const policy = page.headers["content-security-policy"] ?? ""
      expect(policy).toContain("default-src 'none'; ")
      expect(policy).toContain(`script-src 'self' ${sourceHash(docsScript)}; style-src 'self' ${sourceHash(docsStyle)}; `)
      expect(policy).not.toContain("unsafe")
      for (const [file, type] of [
        ["js", "text/javascript"],
        ["css", "text/css"]
      ] as const) {
        const asset = await ask("GET", `/docs/assets/reference.${file}`)
        expect([asset.status, asset.headers["content-type"]]).toEqual([200, `${type}; charset=utf-8`])
        expect(asset.headers["x-content-type-options"]).toBe("nosniff")
        expect(asset.headers["cross-origin-resource-policy"]).toBe("same-origin")
      }
    })
  )

  it("is drawn by the files of a known release", async () => {
    const folder = join(import.meta.dirname, "../../../src/http/description/vendor/scalar")
    for (const file of ["reference.js", "reference.css"] as const) {
      const text = gunzipSync(await readFile(join(folder, `${file}.gz`)))
      expect(createHash("sha256").update(text).digest("hex"), file).toBe(sums[file])
    }
    expect(await readFile(join(folder, "README.md"), "utf8")).toContain(sums.package)
  })

  itWith(CHROMIUM, "--version")(
    "opens a deep link, finds, keeps the kinds of a destination apart, and copies a signed request",
    inPage(async (page, origin) => {
      await page.show({ ...desktop, scheme: "light" })
      await page.open(`${origin}/docs${PAYOUT}`)
      await page.until(isAtThePayout)
      await isNoWider(page, "light")
      expect(await page.run(isDark)).toBe(false)

      expect(await page.run(`${section}.innerText.includes("MomoDestination")`)).toBe(true)
      expect(await page.run(`${section}.innerText.includes("account_number")`)).toBe(false)
      await page.run(`[...${section}.querySelectorAll("button")].find((one) => /MomoDestination/.test(one.innerText)).click()`)
      await page.until(`document.querySelector('[role="option"]')`)
      await page.run(
        `[...document.querySelectorAll('[role="option"]')].find((one) => /BankDestination/.test(one.innerText)).click()`
      )
      await page.until(`${section}.innerText.includes("account_number")`)
      await keep(page, "bank-desktop-light")

      await page.run(`navigator.clipboard.writeText("")`)
      await page.run(COPY)
      await page.until("window.copied !== undefined")
      const copied = String(await page.run("navigator.clipboard.readText()"))
      expect(copied).toContain(`gateway=${origin}\n`)
      expect(copied).toContain('openssl dgst -sha256 -hmac "$SIGNING_SECRET"')

      await page.run(`document.querySelector('button[role="search"]').click()`)
      await page.until(`document.querySelector('[role="combobox"]')`)
      await page.run(`document.querySelector('[role="combobox"]').focus()`)
      await page.type("rotate")
      await page.until(
        `[...document.querySelectorAll('[role="option"], a')].some((one) => /Rotate the webhook secret/.test(one.innerText))`
      )
      await keep(page, "search-desktop-light")

      expect(page.thrown).toEqual([])
      expect(
        page.requested.filter((url) => !url.startsWith(origin) && !url.startsWith("data:") && url !== "about:blank")
      ).toEqual([])
    }),
    120_000
  )

  itWith(CHROMIUM, "--version")(
    "begins with authentication, is dark where its reader's screen is, and never wider than it",
    inPage(async (page, origin) => {
      await page.show({ ...phone, scheme: "dark" })
      await page.open(`${origin}/docs`)
      await page.until(isDrawn)
      await keep(page, "top-phone-dark")
      expect(await page.run(overflow)).toBe(0)
      const headings = `[...document.querySelectorAll("main h1, main h2")].map((one) => one.innerText.trim())`
      await page.until(`${headings}.includes("Collections")`)
      expect(await page.run(`${headings}.slice(0, 2)`)).toEqual(["Payment gateway", "Authentication"])
      await page.run(`location.hash = "${PAYOUT}"`)
      await page.until(isAtThePayout)
      await isNoWider(page, "dark")
      expect(await page.run(isDark)).toBe(true)
    }),
    120_000
  )
})

/** Looks at the page on a phone and on a desktop. */
const isNoWider = async (page: BrowserPage, scheme: Screen["scheme"]) => {
  for (const [name, screen] of Object.entries({ phone, desktop })) {
    await page.show({ ...screen, scheme })
    await page.until(`innerWidth === ${screen.width}`)
    expect(await page.run(overflow), name).toBe(0)
    await keep(page, `payout-${name}-${scheme}`)
  }
}

/** Presses the button that copies the request's example, as soon as it is there. */
const COPY = `(() => {
  const card = [...${section}.querySelectorAll("*")].filter((one) => one.innerText?.includes("openssl rand")).at(-1)
  let around = card
  while (around !== null && around.querySelector('button[aria-label*="opy"], button[class*="copy"]') === null) around = around.parentElement
  around.querySelector('button[aria-label*="opy"], button[class*="copy"]').click()
  const look = async () => {
    const text = await navigator.clipboard.readText()
    if (text === "") setTimeout(look, 25)
    else window.copied = text
  }
  look()
})()`

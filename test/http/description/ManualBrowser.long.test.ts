import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { ManagedRuntime } from "effect"
import { afterAll, describe, expect } from "vitest"
import { violationsOn } from "../../support/Accessibility.ts"
import { type BrowserPage, CHROMIUM, openBrowser } from "../../support/Browser.ts"
import { edge, port } from "../../support/EdgeServer.ts"
import { itWith } from "../../support/Installed.ts"

const screens = {
  wide: { width: 1440, height: 900 },
  middle: { width: 1000, height: 800 },
  phone: { width: 500, height: 900 }
} as const
const shown = [
  ["guide", "/docs/integrating/start#1-sign-a-request"],
  ["events", "/docs/integrating/webhooks#the-catalogue"],
  ["rules", "/docs/contract/payouts"],
  ["clients", "/docs/clients/typescript"],
  ["search", "/docs/search?q=deduct_fee"]
] as const
const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
const visible = (selector: string) =>
  `[...document.querySelectorAll(${JSON.stringify(selector)})].filter((one) => one.offsetParent !== null).map((one) => one.innerText.trim())`
const tab = (language: string) => `document.querySelector('.tabs input[value="${language}"]')`

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

const inPage = (story: (page: BrowserPage, origin: string) => Promise<void>) => async () => {
  browser ??= openBrowser()
  await story((await browser).page, `http://127.0.0.1:${await runtime.runPromise(port)}`)
}

describe("the manual in a browser", () => {
  itWith(CHROMIUM, "--version")(
    "keeps nobody out and is no wider than a desktop, a window or a phone, in light and dark",
    inPage(async (page, origin) => {
      for (const [name, path] of shown) {
        await page.show({ ...screens.wide, scheme: "light" })
        await page.open(`${origin}${path}`)
        await page.until("document.readyState === 'complete'")
        for (const [size, screen] of Object.entries(screens))
          for (const scheme of ["light", "dark"] as const) {
            await page.show({ ...screen, scheme })
            await page.until(`innerWidth === ${screen.width}`)
            expect(await page.run(overflow), `${name} ${size}`).toBe(0)
            expect(await violationsOn(page, scheme === "light" ? "all" : "colours"), `${name} ${size} ${scheme}`).toEqual([])
            await keep(page, `${name}-${size}-${scheme}`)
          }
      }
      expect(page.thrown).toEqual([])
    }),
    240_000
  )

  itWith(CHROMIUM, "--version")(
    "shows one language at a time, the reader's own on every page, and copies an example as it stands",
    inPage(async (page, origin) => {
      await page.show({ ...screens.wide, scheme: "light" })
      await page.open(`${origin}/docs/integrating/webhooks`)
      await page.until(tab("Go"))
      expect(await page.run(visible(".tabs > section figcaption"))).toEqual(["webhook.py"])
      await page.run(`${tab("Go")}.click()`)
      expect(await page.run(visible(".tabs > section figcaption"))).toEqual(["webhook.go"])
      await page.open(`${origin}/docs/integrating/money`)
      await page.until(tab("Go"))
      expect(await page.run(`${tab("Go")}.checked`)).toBe(true)
      // A link to a language shows it.
      await page.run(`location.hash = "#php"`)
      await page.until(`${tab("PHP")}?.checked`)

      await page.run("navigator.clipboard.writeText('')")
      await page.run(`[...document.querySelectorAll(".copy")].find((one) => one.offsetParent !== null).click()`)
      await page.until("document.body.innerText.includes('Copied')")
      expect(await page.run("navigator.clipboard.readText()")).toMatch(/\n$/)
      expect(page.thrown).toEqual([])
    }),
    120_000
  )

  itWith(CHROMIUM, "--version")(
    "finds in guides, contract and reference from every page, without a script of the page",
    inPage(async (page, origin) => {
      await page.show({ ...screens.phone, scheme: "light" })
      for (const path of ["/docs/contract/payouts", "/docs"]) {
        await page.open(`${origin}${path}`)
        await page.until(`document.querySelector('.top input')`)
        await page.run(`document.querySelector('.top input').focus()`)
        await page.type("deduct_fee_from_amount")
        await page.follow(`document.querySelector('.top button').click()`)
        const rooms = String(await page.run(`document.querySelector('.found').innerText`))
        for (const room of ["Guides", "Contract", "Reference"]) expect(rooms, `${path} ${room}`).toContain(room)
      }
      expect(page.requested.filter((url) => !url.startsWith(origin) && !/^(data|about):/.test(url))).toEqual([])
    }),
    120_000
  )
})

import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Context } from "effect"
import { ConsoleAddress } from "../../src/console/ConsoleAddress.ts"
import type { BrowserPage } from "../support/Browser.ts"
import type { Gateway } from "../support/Stack.ts"

/** So often it is looked whether the next page is there. */
const LOOKS = 5_000

export const originOf = ({ context }: Gateway): string => `http://127.0.0.1:${Context.get(context, ConsoleAddress).at?.port}`

/** With `CONSOLE_PICTURES=FOLDER` what the pages look like is kept there. */
export const keepPicture = async (page: BrowserPage, name: string, made = (picture: Buffer): Buffer => picture) => {
  const folder = process.env["CONSOLE_PICTURES"]
  if (folder === undefined) return
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${name}.png`), made(await page.picture()))
}

/** Somebody at the console in a browser, who has what is on the page and nothing else. Each click is counted. */
export const personAt = (page: BrowserPage, origin: string) => {
  let clicks = 0

  /** Clicks what an expression finds, and waits for the page that comes. What is asked while the page changes has no answer. */
  const click = async (found: string, about: string) => {
    clicks += 1
    await page.run("window.isOld = true")
    await page.run(`(() => { const it = ${found}; setTimeout(() => it.click()); return it.innerText })()`)
    for (let looks = 0; looks < LOOKS; looks++) {
      const isThere = page.run(
        `window.isOld === undefined && document.readyState === "complete" && location.href !== "about:blank"`
      )
      if ((await isThere.catch(() => false)) === true) return
    }
    throw new Error(`no page came after ${about}`)
  }
  const withText = (what: string, text: string) =>
    `[...document.querySelectorAll(${JSON.stringify(what)})].find((one) => one.innerText.includes(${JSON.stringify(text)}))`

  /** Presses the button that says exactly this. */
  const press = (button: string) =>
    click(`[...document.querySelectorAll("button")].find((one) => one.innerText === ${JSON.stringify(button)})`, button)
  const fill = (name: string, value: string) =>
    page.run(`document.querySelector("main [name='${name}'], [name='${name}']").value = ${JSON.stringify(value)}`)

  return {
    press,
    fill,
    /** Follows the first link of the page's content whose text holds this. */
    follow: (text: string) => click(withText("main a", text), text),
    /** Presses Enter where the focus is. */
    enter: () =>
      click(
        `({ click: () => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true })), innerText: "" })`,
        "Enter"
      ),
    goTo: (path: string) => page.open(`${origin}/${path}`),
    logIn: async (name: string, token: string) => {
      await page.open(`${origin}/login`)
      await fill("name", name)
      await fill("token", token)
      await press("Log in")
      clicks = 0
    },
    heading: () => page.run(`document.querySelector("h1").innerText`),
    text: () => page.run("document.body.innerText").then(String),
    /** Since the log-in. */
    clicks: () => clicks
  }
}

import { Effect, ManagedRuntime } from "effect"
import { afterAll, describe, expect } from "vitest"
import { SignIn } from "../../src/services/SignIn.ts"
import { violationsOn } from "../support/Accessibility.ts"
import { type BrowserPage, CHROMIUM, openBrowser } from "../support/Browser.ts"
import { itWith } from "../support/Installed.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { asOwner, Stack, tenantOn } from "../support/Stack.ts"
import { operatorOn } from "./ConsoleClient.ts"
import { keepPicture, originOf, personAt } from "./Person.ts"

const runtime = ManagedRuntime.make(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0" }))
let browser: ReturnType<typeof openBrowser> | undefined
afterAll(async () => {
  await (await browser)?.close()
  await runtime.dispose()
})

const personOn = async (name: string) => {
  const given = Effect.gen(function* () {
    const { gateway } = yield* Stack
    const tenant = yield* tenantOn(gateway, 100_000n)
    yield* Effect.forEach(["1234", "1235", "1236"], (ending) => tenant.post("/v1/payouts", momoPayout(ending)))
    const token = yield* operatorOn(name, "support").pipe(Effect.provide(SignIn.layer), Effect.provide(gateway.context))
    return { origin: originOf(gateway), token }
  })
  const { origin, token } = await runtime.runPromise(given)
  browser ??= openBrowser()
  const { page } = await browser
  await page.show({ width: 1280, height: 900, scheme: "light" })
  const person = personAt(page, origin)
  await person.logIn(name, token)
  return { page, person }
}

/** Presses a key where the focus is. */
const press = (page: BrowserPage, key: string) =>
  page.run(
    `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: ${JSON.stringify(key)}, bubbles: true, cancelable: true }))`
  )
const focusedRow = (page: BrowserPage) =>
  page.run(`[...document.querySelectorAll("main tbody tr")].indexOf(document.activeElement)`)
const focusedName = (page: BrowserPage) => page.run(`document.activeElement.getAttribute("name")`)

const STALE = `document.querySelector("main [data-stale]")`

describe("the console's keys", () => {
  itWith(CHROMIUM, "--version")(
    "lead to the search, from row to row and into one, say what they do, and can be turned off",
    async () => {
      const { page, person } = await personOn("keys")
      await press(page, "/")
      expect(await page.run("document.activeElement.id")).toBe("quick")
      await person.goTo("transactions")
      await press(page, "k")
      expect(await focusedRow(page)).toBe(2)
      await page.run("document.activeElement.blur()")
      await press(page, "j")
      await press(page, "j")
      expect(await focusedRow(page)).toBe(1)
      await press(page, "k")
      expect(await focusedRow(page)).toBe(0)
      const first = await page.run(`document.querySelector("main tbody a").innerText`)
      await press(page, "/")
      expect(await focusedName(page)).toBe("q")
      // A letter that is typed is a letter.
      await press(page, "j")
      expect(await focusedName(page)).toBe("q")

      await page.run("document.activeElement.blur()")
      await press(page, "?")
      expect(await page.run(`document.querySelector("#keyboard").open`)).toBe(true)
      expect(await violationsOn(page, "all")).toEqual([])
      await keepPicture(page, "keys")
      await page.run(`document.querySelector("#keyboard-on").click()`)
      expect(await page.run(`document.querySelector("#keyboard-on").innerText`)).toBe("Turn these keys on")
      await page.run(`document.querySelector("#keyboard").close()`)
      await press(page, "j")
      expect(await focusedRow(page)).toBe(-1)
      await page.run(
        `document.querySelector("#keyboard-show").click(); document.querySelector("#keyboard-on").click(); document.querySelector("#keyboard").close(); document.activeElement.blur()`
      )
      await press(page, "j")
      expect(await focusedRow(page)).toBe(0)
      await person.enter()
      expect(await person.heading()).toBe(`Payout ${first}`)
      expect(page.thrown).toEqual([])
    },
    120_000
  )

  itWith(CHROMIUM, "--version")(
    "a page says within three seconds that its database does not answer, and is read anew when it does",
    async () => {
      const { page } = await personOn("stale")
      const database = await runtime.runPromise(Effect.map(Stack, (stack) => stack.database))
      expect(await page.run(`${STALE} === null`)).toBe(true)
      await page.run(`document.querySelector("main tbody").insertAdjacentHTML("beforeend", "<tr id=old></tr>")`)
      const waited = await runtime.runPromise(
        Effect.gen(function* () {
          const sql = yield* asOwner(database)
          return yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`LOCK TABLE console_sessions IN ACCESS EXCLUSIVE MODE`
              return yield* Effect.promise(async () => {
                const began = Number(await page.run("Date.now()"))
                await page.until(`${STALE} !== null`)
                expect(await page.run(`${STALE}.innerText`)).toMatch(
                  /^Since \d\d:\d\d:\d\d UTC this page cannot be read again, and may be out of date/
                )
                return Number(await page.run("Date.now()")) - began
              })
            })
          )
        }).pipe(Effect.scoped)
      )
      expect(waited).toBeLessThan(3_000)
      await page.until(`${STALE} === null && document.querySelector("#old") === null`)
      expect(page.thrown).toEqual([])
    },
    120_000
  )
})

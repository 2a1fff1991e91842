import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Context, Effect, ManagedRuntime, Option } from "effect"
import { afterAll, describe, expect } from "vitest"
import { ConsoleAddress } from "../../src/console/ConsoleAddress.ts"
import type { Fact } from "../../src/domain/Fact.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { SignIn } from "../../src/services/console/SignIn.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { type BrowserPage, CHROMIUM, openBrowser } from "../support/Browser.ts"
import { itWith } from "../support/Installed.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { referenceOf } from "../support/SignedClient.ts"
import { type Gateway, Stack, tenantOn, webhooksOf } from "../support/Stack.ts"
import { operatorOn } from "./ConsoleClient.ts"

const HOSTILE = `<script>document.title = "owned"</script><img src=x onerror="document.title='owned'"> "q" 'q' \u202Egnp.exe ${"long".repeat(2_500)}`

const delivered: Fact = {
  _tag: "Succeeded",
  providerReference: null,
  amount: minor(4_999_999n),
  currency: "UGX",
  fee: null,
  note: HOSTILE
}

/** A gateway with something to look at: an outcome that needs a person, and an endpoint that answers nothing good. */
const given = Effect.gen(function* () {
  const { gateway } = yield* Stack
  const tenant = yield* tenantOn(gateway, 9_000_000n)
  const hook = yield* webhooksOf(gateway, tenant)
  const disputed = referenceOf(
    yield* tenant.post("/v1/payouts", { ...momoPayout("0010"), amount_minor: 5_000_000, narration: HOSTILE.slice(0, 100) })
  )
  yield* tenant.post("/v1/payouts", momoPayout("1234"))
  yield* Context.get(gateway.context, Settlement).apply({
    reference: Reference.make(disputed),
    fact: delivered,
    actor: "callback"
  })
  const stored = yield* Context.get(gateway.context, Transactions).byReference(Reference.make(disputed))
  const providerReference = Option.getOrThrow(stored).transaction.providerReference
  const tokens = yield* Effect.forEach(["support", "approver", "admin"] as const, (role) =>
    Effect.map(operatorOn(role, role), (token) => [role, token] as const)
  ).pipe(Effect.provide(SignIn.layer), Effect.provide(gateway.context))
  return { gateway, tenant, hook, disputed, providerReference, tokens: new Map<string, string>(tokens) }
})

const runtime = ManagedRuntime.make(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0" }))
let browser: ReturnType<typeof openBrowser> | undefined
afterAll(async () => {
  await (await browser)?.close()
  await runtime.dispose()
})

const originOf = ({ context }: Gateway): string => `http://127.0.0.1:${Context.get(context, ConsoleAddress).at?.port}`

const phone = { width: 390, height: 844 }
const desktop = { width: 1280, height: 900 }
const tablet = { width: 800, height: 1100 }
const wide = { width: 2560, height: 1440 }

/** With `CONSOLE_PICTURES=FOLDER` what the pages look like is kept, for somebody to look at. */
const keep = async (page: BrowserPage, name: string) => {
  const folder = process.env["CONSOLE_PICTURES"]
  for (const [size, screen] of Object.entries({ phone, tablet, desktop, wide }))
    for (const scheme of ["light", "dark"] as const) {
      await page.show({ ...screen, scheme })
      expect(
        await page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"),
        `${name}, ${size}`
      ).toBe(0)
      if (folder === undefined) continue
      await mkdir(folder, { recursive: true })
      await writeFile(join(folder, `${name}-${size}-${scheme}.png`), await page.picture())
    }
}

/** So often it is looked whether the next page is there. */
const LOOKS = 5_000

/** Presses the button of this text, and waits for the page that comes. What is asked while the page changes has no answer. */
const press = async (page: BrowserPage, button: string) => {
  await page.run("window.isOld = true")
  const found = `[...document.querySelectorAll("button")].find((one) => one.innerText === ${JSON.stringify(button)})`
  await page.run(`(() => { const button = ${found}; setTimeout(() => button.click()); return button.innerText })()`)
  for (let looks = 0; looks < LOOKS; looks++) {
    const isThere = page.run(
      `window.isOld === undefined && document.readyState === "complete" && location.href !== "about:blank"`
    )
    if ((await isThere.catch(() => false)) === true) return
  }
  throw new Error(`no page came after ${button}`)
}

const fill = (page: BrowserPage, name: string, value: string) =>
  page.run(`document.querySelector("main [name='${name}'], [name='${name}']").value = ${JSON.stringify(value)}`)

const heading = (page: BrowserPage) => page.run(`document.querySelector("h1").innerText`)

describe("the console in a browser", () => {
  itWith(CHROMIUM, "--version")(
    "leads from the log-in to a transaction, its review, which two people end, and its webhooks, and shows hostile words as words",
    async () => {
      const { disputed, gateway, providerReference, tenant, tokens } = await runtime.runPromise(given.pipe(Effect.scoped))
      browser ??= openBrowser()
      const { page } = await browser
      const origin = originOf(gateway)
      const logIn = async (name: string) => {
        await page.open(`${origin}/login`)
        await fill(page, "name", name)
        await fill(page, "token", tokens.get(name) ?? "")
        await press(page, "Log in")
      }
      await page.open(`${origin}/transactions/${disputed}`)
      expect(await heading(page)).toBe("Log in")
      await keep(page, "login")
      await logIn("support")
      expect(await heading(page)).toBe("How things stand")
      await keep(page, "home")
      await fill(page, "q", "0010")
      await press(page, "Find")
      await keep(page, "found")
      expect(await page.run("document.body.innerText")).toContain(disputed)
      await page.open(`${origin}/transactions?app=${tenant.appId}&currency=UGX&amount=5%2C000%2C000`)
      expect(await page.run(`document.querySelectorAll("tbody tr").length`)).toBe(1)
      await page.open(`${origin}/transactions?q=${providerReference}`)
      expect(await heading(page)).toBe(`Payout ${disputed}`)
      expect(await page.run("document.title")).not.toBe("owned")
      expect(await page.run("document.querySelectorAll('main img, main script').length")).toBe(0)
      expect(await page.run("document.body.innerText")).toContain("\\u202egnp.exe")
      await keep(page, "timeline")
      await page.open(`${origin}/reviews`)
      await keep(page, "reviews")
      await page.open(`${origin}/reviews/${disputed}`)
      await fill(page, "outcome", "successful")
      await fill(page, "evidence", HOSTILE.slice(0, 400))
      await fill(page, "amount", "4,999,999")
      await press(page, "Propose")
      expect(await page.run("document.body.innerText")).toContain("Another person has to approve it")
      expect(await page.run(`[...document.querySelectorAll("main button")].map((one) => one.innerText)`)).not.toContain("Approve")
      await press(page, "Log out")
      await logIn("approver")
      await page.open(`${origin}/reviews`)
      await keep(page, "approval")
      await press(page, "Approve")
      expect(await page.run("document.body.innerText")).toContain("Approved, and carried out.")
      await page.open(`${origin}/transactions/${disputed}`)
      expect(await page.run("document.body.innerText")).toMatch(/Resolved: successful/)
      await keep(page, "resolved")
      const hooks = `${origin}/webhooks?app=${tenant.appId}&mode=live`
      await page.open(hooks)
      await keep(page, "webhooks")
      await page.run(`document.querySelector("[name=id]").checked = true`)
      await press(page, "Send the ticked again")
      expect(await page.run("document.body.innerText")).toContain("They are sent again")
      await page.open(hooks)
      await press(page, "Send all parked again")
      await press(page, "Log out")
      await logIn("admin")
      await page.open(`${origin}/providers`)
      await page.run(`document.querySelector("main details").open = true`)
      await fill(page, "reason", HOSTILE.slice(0, 150))
      await press(page, await page.run(`document.querySelector("main details button").innerText`).then(String))
      expect(await page.run("document.body.innerText")).toContain("The corridor is switched.")
      for (const place of ["providers", "callbacks", "floats", `floats/${tenant.appId}`, "audit"]) {
        await page.open(`${origin}/${place}`)
        expect(await heading(page)).not.toMatch(/did not work|no such/)
        await keep(page, place.split("/").length > 1 ? "float" : place)
      }
      expect(await page.run("document.body.innerText")).toMatch(/console\/approver\s+webhook redeliver/)
      expect(page.requested.every((url) => url.startsWith(origin) || url.startsWith("data:") || url === "about:blank")).toBe(true)
      expect(page.thrown).toEqual([])
    },
    60_000
  )
})

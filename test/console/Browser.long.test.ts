import { Context, Effect, ManagedRuntime, Option } from "effect"
import { afterAll, describe, expect } from "vitest"
import type { Fact } from "../../src/domain/Fact.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { PeriodCounts } from "../../src/services/ports/PeriodCounts.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { SignIn } from "../../src/services/SignIn.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { violationsOn } from "../support/Accessibility.ts"
import { type BrowserPage, CHROMIUM, openBrowser } from "../support/Browser.ts"
import { itWith } from "../support/Installed.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { referenceOf } from "../support/SignedClient.ts"
import { Stack, tenantOn, webhooksOf } from "../support/Stack.ts"
import { operatorOn } from "./ConsoleClient.ts"
import { keepPicture, originOf, personAt } from "./Person.ts"

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
    yield* tenant.post("/v1/payouts", {
      ...momoPayout("0010"),
      amount_minor: 5_000_000,
      narration: HOSTILE.slice(0, 100),
      metadata: { [HOSTILE.slice(0, 40)]: HOSTILE.slice(0, 200) }
    })
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

const phone = { width: 390, height: 844 }
const desktop = { width: 1280, height: 900 }
const tablet = { width: 768, height: 1024 }
const wide = { width: 2560, height: 1440 }

/** What is folded is looked at as well. */
const UNFOLD = `const folded = [...document.querySelectorAll("details:not([open])")]; folded.forEach((one) => { one.open = true }); window.fold = () => folded.forEach((one) => { one.open = false })`

/** How much wider it is than its window, how many elements of others' making it has, whether one of them ran, and how many share an id. */
const LOOK = `[document.documentElement.scrollWidth - document.documentElement.clientWidth,
  document.querySelectorAll("main img, main script, iframe, object, [onerror]").length, document.title === "owned",
  document.querySelectorAll("[id]").length - new Set([...document.querySelectorAll("[id]")].map(({ id }) => id)).size]`

const sizes = { phone, tablet, desktop, wide }

/** What every page has to be: at each size as wide as its window and its own; without a violation that axe finds on a phone, on a desk, and there in the dark. */
const keep = async (page: BrowserPage, name: string) => {
  const look = async (size: keyof typeof sizes, scheme: "light" | "dark", rules: "all" | "colours" | "none") => {
    await page.show({ ...sizes[size], scheme })
    const about = `${name}-${size}-${scheme}`
    await keepPicture(page, about)
    await page.run(`(() => { ${UNFOLD} })()`)
    expect(await page.run(LOOK), about).toEqual([0, 0, false, 0])
    if (rules !== "none") expect(await violationsOn(page, rules), about).toEqual([])
    await page.run("window.fold()")
  }
  await look("phone", "light", "all")
  await look("tablet", "light", "none")
  await look("wide", "light", "none")
  await look("desktop", "light", "all")
  await look("desktop", "dark", "colours")
}

describe("the console in a browser", () => {
  itWith(CHROMIUM, "--version")(
    "leads from the log-in to a transaction, its review, which two people end, and its webhooks, and shows hostile words as words",
    async () => {
      const { disputed, gateway, providerReference, tenant, tokens } = await runtime.runPromise(given.pipe(Effect.scoped))
      browser ??= openBrowser()
      const { page } = await browser
      const origin = originOf(gateway)
      const person = personAt(page, origin)
      const logIn = (name: string) => person.logIn(name, tokens.get(name) ?? "")
      await person.goTo(`transactions/${disputed}`)
      expect(await person.heading()).toBe("Log in")
      await keep(page, "login")
      await logIn("support")
      expect(await person.heading()).toBe("Overview")
      await keep(page, "home")
      await page.run(
        `window.fetch = () => Promise.reject(new Error("gone")); document.dispatchEvent(new Event("visibilitychange"))`
      )
      await page.until(`document.querySelector("main [role=status]").innerText.includes("may be out of date")`)
      await person.fill("q", "0010")
      await person.press("Search")
      await keep(page, "found")
      expect(await person.text()).toContain(disputed)
      await person.goTo(`transactions?app=${tenant.appId}&currency=UGX&least=5%2C000%2C000&most=5%2C000%2C000`)
      expect(await page.run(`document.querySelectorAll("tbody tr").length`)).toBe(1)
      await person.goTo(`transactions?q=${providerReference}`)
      expect(await person.heading()).toBe(`Payout ${disputed}`)
      expect(await person.text()).toContain("\\u202egnp.exe")
      await keep(page, "timeline")
      await person.goTo("reviews")
      await keep(page, "reviews")
      await person.goTo("unknown")
      expect(await person.text()).toContain(disputed)
      await keep(page, "unknown")
      await person.goTo(`reviews/${disputed}`)
      await keep(page, "case")
      await person.fill("outcome", "successful")
      await person.fill("evidence", HOSTILE.slice(0, 400))
      await person.fill("amount", "4,999,999")
      await person.press("Propose")
      expect(await person.text()).toContain("Another person has to approve it")
      expect(await page.run(`[...document.querySelectorAll("main button")].map((one) => one.innerText)`)).not.toContain("Approve")
      await person.press("Log out")
      await logIn("approver")
      await person.goTo("reviews")
      await keep(page, "approval")
      await person.press("Approve")
      expect(await person.text()).toContain("Approved, and carried out.")
      await person.goTo(`transactions/${disputed}`)
      expect(await person.text()).toMatch(/A person ruled on it: successful[^]*amount 4999999/)
      await keep(page, "resolved")
      const hooks = `webhooks?app=${tenant.appId}&mode=live`
      await person.goTo(hooks)
      await keep(page, "webhooks")
      await person.goTo(`transactions/${disputed}`)
      await page.run(`document.querySelector("main details").open = true`)
      await person.fill("reason", "a claim of the tenant")
      await person.press("Show it")
      await keep(page, "raw")
      await person.goTo("transactions?least=1")
      await keep(page, "mistake")
      await person.goTo("absent")
      await keep(page, "absent")
      await person.goTo(hooks)
      await page.run(`document.querySelector("[name=id]").checked = true`)
      await person.press("Resend selected")
      expect(await person.text()).toContain("They are sent again")
      await person.goTo(hooks)
      await person.press("Resend all parked")
      await person.press("Log out")
      await logIn("admin")
      await person.goTo("corridors/UG/UGX/payout/momo/change")
      await person.fill("active", "false")
      await person.press("See what would change")
      await keep(page, "corridor-change")
      await person.fill("reason", HOSTILE.slice(0, 150).replace("\u202E", ""))
      await person.press("Change it")
      expect(await person.text()).toContain("It is changed.")
      await person.goTo(`tenants/${tenant.appId}/change?do=tenant+pin&provider=mtn`)
      await keep(page, "tenant-change")
      await runtime.runPromise(Context.get(gateway.context, PeriodCounts).write)
      const ofTenant = ["keys/", "floats/", "tenants/"].map((place) => `${place}${tenant.appId}`)
      const places = [
        "providers",
        "providers/eversend/change",
        "senders",
        "callbacks",
        "rates",
        "rates?kind=payout&corridor=UG/UGX/momo&provider=eversend",
        "tenants",
        "wallets",
        "reconciliations",
        "floats",
        "keys",
        ...ofTenant,
        `floats/${tenant.appId}/live/UGX`,
        "proposals",
        "audit"
      ]
      for (const place of places) {
        await person.goTo(place)
        expect(await person.heading()).not.toMatch(/did not work|no such/)
        if (place.startsWith("rates?"))
          expect(await page.run(`document.querySelectorAll("svg[role=img] rect").length`)).toBeGreaterThan(0)
        await keep(page, place.replace(tenant.appId, "tenant").replaceAll(/[/?&=]/g, "-"))
      }
      expect(await person.text()).toMatch(/console\/approver\s+webhook redeliver/)
      expect(page.requested.every((url) => url.startsWith(origin) || url.startsWith("data:") || url === "about:blank")).toBe(true)
      expect(page.thrown).toEqual([])
    },
    240_000
  )
})

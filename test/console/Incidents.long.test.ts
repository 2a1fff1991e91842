import { Effect, ManagedRuntime } from "effect"
import { afterAll, describe, expect } from "vitest"
import { SignIn } from "../../src/services/SignIn.ts"
import { type BrowserPage, CHROMIUM, openBrowser } from "../support/Browser.ts"
import { itWith } from "../support/Installed.ts"
import { smaller } from "../support/Png.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { eventually, referenceOf } from "../support/SignedClient.ts"
import { Stack, tenantOn } from "../support/Stack.ts"
import { operatorOn } from "./ConsoleClient.ts"
import { keepPicture, originOf, personAt } from "./Person.ts"

// docs/console.md leads through these three; its pictures are made here: CONSOLE_PICTURES=docs/console npm test -- test/console/Incidents.long.test.ts

const runtime = ManagedRuntime.make(
  Stack.layer({
    RECONCILER_SCHEDULE: "1h",
    WEBHOOK_SCHEDULE: "0s",
    CIRCUIT_FAILURES: "4",
    CIRCUIT_OPEN: "100ms",
    CONSOLE_PORT: "0"
  })
)
let browser: ReturnType<typeof openBrowser> | undefined
afterAll(async () => {
  await (await browser)?.close()
  await runtime.dispose()
})

const screen = { width: 1120, height: 700, scheme: "light" } as const

/** Somebody who has just logged in, and sees the first page. */
const onCall = async (name: string) => {
  const given = Effect.gen(function* () {
    const { gateway } = yield* Stack
    const token = yield* operatorOn(name, "support").pipe(Effect.provide(SignIn.layer), Effect.provide(gateway.context))
    return { origin: originOf(gateway), token }
  })
  const { origin, token } = await runtime.runPromise(given)
  browser ??= openBrowser()
  const { page } = await browser
  await page.show(screen)
  const person = personAt(page, origin)
  await person.logIn(name, token)
  return { page, person }
}

/** A picture of the part of the page from this heading on. */
const picture = async (page: BrowserPage, name: string, heading = "") => {
  await page.run(`(${JSON.stringify(heading)} === "" ? document.body : [...document.querySelectorAll("main h2")]
    .find((one) => one.innerText === ${JSON.stringify(heading)})).scrollIntoView()`)
  await page.run(`document.documentElement.style.scrollbarWidth = "none"`)
  await keepPicture(page, name, smaller)
}

const payouts = (tenant: Effect.Success<ReturnType<typeof tenantOn>>, ending: string, count: number) =>
  Effect.forEach(Array(count), () => tenant.post("/v1/payouts", momoPayout(ending)))

describe("in the console alone, from the first page to the cause", () => {
  itWith(CHROMIUM, "--version")("a provider that is down takes one click", async () => {
    const setDown = (down: boolean) =>
      Effect.flatMap(Stack, ({ simulator }) =>
        Effect.promise(() => simulator.control("POST", "/down", { provider: "eversend", down }))
      )
    const tenant = await runtime.runPromise(Effect.flatMap(Stack, ({ gateway }) => tenantOn(gateway, 1_000_000n)))
    const broken = Effect.andThen(payouts(tenant, "1234", 2), Effect.andThen(setDown(true), payouts(tenant, "1234", 6)))
    expect((await runtime.runPromise(broken)).map(({ status }) => status)).toEqual(Array(6).fill(503))
    const { page, person } = await onCall("down")
    expect(await person.text()).toMatch(
      /Calls to eversend live fail: .*the provider's machine refuses connections \(ECONNREFUSED\)/
    )
    expect(await person.text()).toMatch(/Held back by this node: eversend live quote, for t-[0-9a-f]+ alone/)
    await picture(page, "provider-down-1")
    await person.follow("Calls to eversend live fail")
    expect(await person.text()).toMatch(/quotation\s+\d\s+[3-6]\s+.*refuses connections/s)
    await picture(page, "provider-down-2")
    expect(person.clicks()).toBe(1)
    const works = Effect.andThen(
      setDown(false),
      eventually(tenant.post("/v1/payouts", momoPayout("1234")), ({ status }) => status === 201)
    )
    await runtime.runPromise(Effect.andThen(works, payouts(tenant, "1234", 9)))
    await person.goTo("")
    expect(await person.text()).not.toContain("Calls to eversend live fail")
    expect(await person.text()).not.toContain("Held back")
  })

  itWith(CHROMIUM, "--version")("a tenant's endpoint that is dead takes one", async () => {
    const given = Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      yield* tenant.call("PUT", "/v1/webhooks/endpoint", { url: "http://127.0.0.1:9/hooks" })
      yield* payouts(tenant, "1234", 2)
      yield* eventually(tenant.get("/v1/webhooks/deliveries?status=parked"), ({ text }) => text.includes("parked"))
      return tenant
    })
    const tenant = await runtime.runPromise(given)
    const { page, person } = await onCall("dead")
    expect(await person.text()).toMatch(/Parked webhooks: \d/)
    await picture(page, "endpoint-dead-1")
    await person.follow(tenant.appId)
    expect(await person.text()).toMatch(/Last answer\s+2.*UTC: no answer: The connection to this machine was refused/)
    await picture(page, "endpoint-dead-2")
    expect(person.clicks()).toBe(1)
  })

  itWith(CHROMIUM, "--version")("a payout that was executed without an answer takes one, and another settles it", async () => {
    const given = Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      // The callback that would tell is lost as well.
      const lost = { provider: "eversend", client_id: "simulator", url: "http://127.0.0.1:9/" }
      yield* Effect.promise(() => simulator.control("POST", "/callbacks", lost))
      return referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0003")))
    })
    const reference = await runtime.runPromise(given)
    const { page, person } = await onCall("silent")
    expect(await person.text()).toContain(reference)
    await picture(page, "no-answer-1", "No outcome yet")
    await person.follow(reference)
    expect(await person.text()).toMatch(
      /nobody knows whether it was executed: pending[^]*it took the request and did not answer \(no answer in time\)/
    )
    await picture(page, "no-answer-2")
    expect(person.clicks()).toBe(1)
    await person.press("Ask provider now")
    expect(await person.text()).toMatch(/The provider says that it succeeded: successful/)
    await picture(page, "no-answer-3")
    expect(person.clicks()).toBe(2)
  })
})

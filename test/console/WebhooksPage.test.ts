import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { momoPayout } from "../support/RequestBodies.ts"
import { eventually } from "../support/SignedClient.ts"
import { Stack, tenantOn } from "../support/Stack.ts"
import { receiver } from "../support/WebhookReceiver.ts"
import { consoleSocket } from "./ConsoleSocket.ts"

const stack = Stack.layer({ CONSOLE_PORT: "0", WEBHOOK_SCHEDULE: "0s" })

layer(stack, { excludeTestServices: true })("the page of a tenant's webhooks", (it) => {
  it.effect("shows each endpoint with its own state and deliveries, and sends again where they belong", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 1_000_000n)
      let status = 503
      const erp = yield* receiver((response) => response.writeHead(status).end())
      const main = yield* receiver((response) => response.writeHead(204).end())
      yield* tenant.call("PUT", "/v1/webhooks/endpoint", { url: main.url })
      yield* tenant.call("PUT", "/v1/webhooks/endpoints/erp", { url: erp.url, events: ["payout.successful"] })
      yield* tenant.post("/v1/payouts", momoPayout("1234"))
      const parked = tenant.get("/v1/webhooks/deliveries?status=parked&endpoint=erp")
      const { text: listed } = yield* eventually(parked, ({ text }) => text.includes("parked"))
      const [{ id }] = JSON.parse(listed).data.items

      const person = yield* consoleSocket(gateway).enter("webhooks-page", "support")
      expect((yield* person.read("/")).text).toMatch(/<a href="\/webhooks">Parked webhooks: \d+<\/a>/)
      const page = `/webhooks?app=${tenant.appId}&mode=live`
      const all = (yield* person.read(page)).text
      for (const name of ["default", "erp"]) expect(all).toContain(`Endpoint ${name} of ${tenant.appId}, live`)
      const one = (yield* person.read(`${page}&endpoint=erp`)).text
      expect(one).toContain(`Endpoint erp of ${tenant.appId}, live`)
      expect(one).not.toContain(`Endpoint default of ${tenant.appId}, live`)
      expect([one.includes(erp.url), one.includes(main.url)]).toStrictEqual([true, false])

      status = 204
      const before = main.received.length
      yield* person.send("/webhooks/redeliver", { app: tenant.appId, mode: "live", endpoint: "erp", id })
      yield* eventually(
        Effect.sync(() => erp.received),
        ({ length }) => length === 2
      )
      expect(main.received.length).toBe(before)
    })
  )
})

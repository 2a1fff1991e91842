import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { PeriodCounts } from "../../src/services/ports/PeriodCounts.ts"
import { bankPayout } from "../support/RequestBodies.ts"
import { said } from "../support/SignedClient.ts"
import { Stack, tenantOn } from "../support/Stack.ts"
import { consoleSocket } from "./ConsoleSocket.ts"

layer(Stack.layer({ CONSOLE_PORT: "0", EVERSEND_LIVE_PACE: "off" }), { excludeTestServices: true })(
  "the page of success rates",
  (it) => {
    it.effect("shows a corridor's transactions as a chart and as figures, with why they failed, and none of a tenant", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const person = yield* consoleSocket(gateway).enter("rates-page", "viewer")
        expect((yield* person.read("/rates")).text).toContain("None ended in this time.")
        const tenant = yield* tenantOn(gateway, 1_000_000n)
        const refused = yield* Effect.forEach([0, 1, 2], (at) =>
          tenant.post("/v1/payouts", bankPayout("0001", { amount_minor: 10_000 + at }))
        )
        expect(refused.map(said)).toMatchObject(Array.from({ length: 3 }, () => ({ code: "payout_rejected_by_provider" })))
        yield* Context.get(gateway.context, PeriodCounts).write
        const list = (yield* person.read("/rates?last=week")).text
        expect(list).toContain("UG/UGX/bank")
        expect(list).toContain(">0.0 %<")
        const [, address = ""] = /href="(\/rates\?last=week[^"]*bank[^"]*)"/.exec(list) ?? []
        const one = (yield* person.read(address.replaceAll("&amp;", "&"))).text
        expect(one).toMatch(/<svg [^>]*role="img"/)
        expect(one).toContain("0.0 % of 3 were successful.")
        expect(one).toMatch(/Why they were not successful[^]*(provider rejected|unknown|destination)/)
        for (const page of [list, one]) expect(page).not.toContain(tenant.appId)
        expect((yield* person.read("/rates?mode=test")).text).toContain("None ended in this time.")
        expect((yield* person.read("/rates?last=always&mode=none&kind=x")).text).toContain("Last hour, live")
      })
    )
  }
)

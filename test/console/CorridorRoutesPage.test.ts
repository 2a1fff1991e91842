import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { RouteCounts } from "../../src/services/ports/RouteCounts.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { referenceOf, said } from "../support/SignedClient.ts"
import { changeCorridor, Stack, tenantOn } from "../support/Stack.ts"
import { consoleSocket } from "./ConsoleSocket.ts"

layer(Stack.layer({ CONSOLE_PORT: "0", EVERSEND_LIVE_PACE: "off", PROVIDER_TIMEOUT_MS: "15000" }), { excludeTestServices: true })(
  "the page of a corridor",
  (it) => {
    it.effect("shows the preferred order and what each provider did in the last hour and day, and names no tenant", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const person = yield* consoleSocket(gateway).enter("corridor-page", "viewer")
        const before = (yield* person.read("/corridors/UG/UGX/payout/momo")).text
        expect(before).toContain("Nothing was tried in this time.")
        expect(before).toContain("order: the row")
        const tenant = yield* tenantOn(gateway, 1_000_000n)
        const paid = yield* tenant.post("/v1/payouts", momoPayout("1234"))
        yield* tenant.until(`/v1/payouts/${referenceOf(paid)}`, ({ status }) => status === "successful")
        expect(said(yield* tenant.post("/v1/payouts", momoPayout("0001")))).toMatchObject({
          code: "payout_rejected_by_provider"
        })
        const counts = Context.get(gateway.context, RouteCounts)
        const route = { direction: "payout", corridor: "UG/UGX/momo", network: "MTN", provider: "eversend" } as const
        yield* counts.add("live", { ...route, result: "silent", tookMs: null })
        yield* counts.write
        yield* changeCorridor(gateway, { country: "UG", method: "momo" }, { preference: "success" })
        const { text } = yield* person.read("/corridors/UG/UGX/payout/momo")
        expect(text).toContain("the most successful of the last hour first")
        expect(text.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ")).toMatch(
          /Last hour.*live MTN eversend 3 1 [01] [01] 1 0 too few, \d \d+(\.\d)? s \d+(\.\d)? s.*Last day.*live MTN eversend 3 1/
        )
        expect(text).not.toContain(tenant.appId)
        const list = (yield* person.read("/providers")).text
        expect(list).toContain('href="/corridors/UG/UGX/payout/momo"')
        expect((yield* person.read("/corridors/UG/UGX/payout/none")).status).toBe(404)
      })
    )
  }
)

import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { Reference } from "../../../src/domain/Ids.ts"
import { referenceIdOf, statusPath } from "../../../src/providers/mtn/Wire.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import { simulatedMtn } from "../../../src/simulator/mtn/Simulator.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf } from "../../support/SignedClient.ts"
import { callsOf, changeCorridor, executionsOf, type Gateway, Stack, tenantOn, verified } from "../../support/Stack.ts"
import { statusOf } from "./Orders.ts"

const simulator = simulatedMtn.simulated(simulatedMtn.accounts({ baseUrl: "", timeoutMs: 1000 }))
/** The first question comes too late for these stories: whatever is settled was settled because of a callback. */
const unasked = { RECONCILER_SCHEDULE: "1h" }

const routed = Effect.gen(function* () {
  const stack = yield* Stack
  yield* changeCorridor(stack.gateway, { country: "UG", method: "momo" }, { providers: ["mtn"] })
  yield* changeCorridor(stack.gateway, { country: "UG", method: "momo", direction: "collection" }, { providers: ["mtn"] })
  return stack
})

const callBack = ({ context, url }: Gateway, method: "POST" | "PUT", body: string, key?: string) =>
  Effect.promise(() => {
    const own = key ?? Context.get(context, ProviderRegistry).routeKey("mtn", "live")
    return fetch(`${url}/webhooks/mtn/${own}`, { method, body })
  })

layer(Stack.layer(unasked, { beside: [simulator] }), { excludeTestServices: true })("with corridors that lead to MTN", (it) => {
  it.effect("a payout and a charge are settled after unsigned callbacks, by POST or PUT, because MTN is asked", () =>
    Effect.gen(function* () {
      const { gateway, simulator: running } = yield* routed
      const tenant = yield* tenantOn(gateway)
      const payout = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234"), "payout"))
      const charge = referenceOf(yield* tenant.post("/v1/collections", momoCharge("1234"), "charge"))
      const done = ({ status }: Record<string, unknown>) => status === "successful"
      expect(yield* tenant.until(`/v1/payouts/${payout}`, done)).toMatchObject({ provider: "mtn", fees_minor: 1000 })
      expect(yield* tenant.until(`/v1/collections/${charge}`, done)).toMatchObject({ provider: "mtn", fees_minor: 300 })
      expect(yield* executionsOf(running, payout)).toMatchObject([{ provider: "mtn", client_reference: payout }])
      expect(yield* executionsOf(running, charge)).toMatchObject([{ provider: "mtn", client_reference: charge }])
      expect(yield* verified(gateway)).toMatchObject({ ok: true })
    })
  )

  it.effect("a callback to the secret address moves nothing by itself, and one to another address is refused", () =>
    Effect.gen(function* () {
      const { gateway, simulator: running } = yield* routed
      const tenant = yield* tenantOn(gateway)
      const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010"), "payout"))
      const lie = JSON.stringify(statusOf(reference))
      for (const method of ["POST", "PUT"] as const) {
        expect((yield* callBack(gateway, method, lie)).status).toBe(200)
        expect((yield* callBack(gateway, method, "hello")).status).toBe(401)
        expect((yield* callBack(gateway, method, lie, "0".repeat(26))).status).toBe(404)
      }
      const question = `GET ${statusPath("disbursement", referenceIdOf(Reference.make(reference)))}`
      yield* eventually(callsOf(running), (calls) => calls.includes(question))
      expect((yield* tenant.get(`/v1/payouts/${reference}`)).body.data).toMatchObject({ status: "pending", needs_review: false })
      expect(yield* executionsOf(running, reference)).toStrictEqual([])
    })
  )
})

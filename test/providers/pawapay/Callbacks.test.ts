import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { Reference } from "../../../src/domain/Ids.ts"
import { paymentId } from "../../../src/providers/pawapay/Wire.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import type { PawapayAccount } from "../../../src/simulator/pawapay/Responses.ts"
import { signedHeaders, signingKey } from "../../../src/simulator/pawapay/Signature.ts"
import { simulatedPawapay } from "../../../src/simulator/pawapay/Simulator.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf } from "../../support/SignedClient.ts"
import { callsOf, changeCorridor, executionsOf, type Gateway, Stack, tenantOn, verified } from "../../support/Stack.ts"

const simulator = simulatedPawapay.simulated(simulatedPawapay.accounts({ baseUrl: "", timeoutMs: 1000 }))
/** The first question comes too late for these stories: whatever is settled was settled because of a callback. */
const unasked = { RECONCILER_SCHEDULE: "1h" }

const routed = Effect.gen(function* () {
  const stack = yield* Stack
  yield* changeCorridor(stack.gateway, { country: "UG", method: "momo" }, { providers: ["pawapay"] })
  yield* changeCorridor(stack.gateway, { country: "UG", method: "momo", direction: "collection" }, { providers: ["pawapay"] })
  return stack
})

/** Those that a simulated gateway has. */
const accounts: ReadonlyArray<PawapayAccount> = ["live", "test"].map((mode) => ({
  clientId: `simulated-${mode}`,
  apiToken: Redacted.make(`simulated-${mode}-token`),
  requestKey: null
}))

/** What pawaPay would send about a payout of somebody's, signed for an address. */
const signedFor = (owners: ReadonlyArray<PawapayAccount>, body: string, url: string) =>
  signedHeaders({ body, headers: { "content-type": "application/json" }, retries: 0 }, signingKey(owners), url, Date.now())

const hooks = ({ context, url }: Gateway) => {
  const registry = Context.get(context, ProviderRegistry)
  return {
    live: `${url}/webhooks/pawapay/${registry.routeKey("pawapay", "live")}`,
    test: `${url}/webhooks/pawapay/${registry.routeKey("pawapay", "test")}`
  }
}

layer(Stack.layer(unasked, { beside: [simulator] }), { excludeTestServices: true })(
  "with corridors that lead to pawaPay",
  (it) => {
    it.effect("a payout and a charge are settled after signed callbacks, with the contract's fees", () =>
      Effect.gen(function* () {
        const { gateway, simulator: running } = yield* routed
        const tenant = yield* tenantOn(gateway)
        const payout = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234"), "payout"))
        const charge = referenceOf(yield* tenant.post("/v1/collections", momoCharge("1234"), "charge"))
        const done = ({ status }: { readonly status?: unknown }) => status === "successful"
        expect(yield* tenant.until(`/v1/payouts/${payout}`, done)).toMatchObject({ provider: "pawapay", fees_minor: 1000 })
        expect(yield* tenant.until(`/v1/collections/${charge}`, done)).toMatchObject({ provider: "pawapay", fees_minor: 300 })
        expect(yield* executionsOf(running, payout)).toMatchObject([{ provider: "pawapay", client_reference: payout }])
        expect(yield* executionsOf(running, charge)).toMatchObject([{ provider: "pawapay", client_reference: charge }])
        expect(yield* verified(gateway)).toMatchObject({ ok: true })
      })
    )

    it.effect(
      "a forged callback is refused, and so is a genuine one for another address; a genuine one with a lie moves nothing",
      () =>
        Effect.gen(function* () {
          const { gateway, simulator: running } = yield* routed
          const tenant = yield* tenantOn(gateway)
          const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010"), "payout"))
          const payoutId = paymentId(Reference.make(reference))
          const { live, test } = hooks(gateway)
          const body = `{ "payoutId":"${payoutId}", "status" : "COMPLETED", "clientReferenceId":"${reference}"}`
          const send = (url: string, headers: Readonly<Record<string, string>>) =>
            Effect.promise(async () => (await fetch(url, { method: "POST", headers, body })).status)

          expect(yield* send(live, { "content-type": "application/json" })).toBe(401)
          expect(yield* send(live, signedFor(accounts.slice(1), body, live))).toBe(401)
          expect(yield* send(live, signedFor(accounts, body, test))).toBe(401)
          expect(yield* send(live, signedFor(accounts, body, live))).toBe(200)
          const questions = Effect.map(callsOf(running), (calls) =>
            calls.filter((call) => call === `GET /v2/payouts/${payoutId}`)
          )
          yield* eventually(questions, ({ length }) => length > 0)
          expect((yield* tenant.get(`/v1/payouts/${reference}`)).body.data).toMatchObject({
            status: "pending",
            needs_review: false
          })
          expect(yield* executionsOf(running, reference)).toStrictEqual([])
        })
    )
  }
)

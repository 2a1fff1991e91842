import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { momoCharge } from "../../support/RequestBodies.ts"
import { said } from "../../support/SignedClient.ts"
import { changeCorridor, requestsTo, Stack, tenantOn } from "../../support/Stack.ts"

layer(Stack.layer(), { excludeTestServices: true })("a corridor whose row requires redirect_url", (it) => {
  it.effect("refuses a charge without one before any provider call, and takes the same charge with it", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      yield* changeCorridor(gateway, { country: "UG", method: "momo", direction: "collection" }, { requiresRedirectUrl: true })
      const before = yield* requestsTo(simulator)
      expect(said(yield* tenant.post("/v1/collections", momoCharge("1234"), "one"))).toStrictEqual({
        status: 422,
        code: "validation_failed",
        class: "terminal",
        details: { issues: [{ path: "redirect_url", message: "is required here: where the payer goes on afterwards" }] }
      })
      expect(yield* requestsTo(simulator)).toStrictEqual(before)
      const charge = momoCharge("1234", { redirect_url: "https://shop.example/back" })
      expect(said(yield* tenant.post("/v1/collections", charge, "two"))).toStrictEqual({ status: 201 })
    })
  )
})

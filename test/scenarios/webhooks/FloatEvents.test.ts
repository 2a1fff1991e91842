import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { momoPayout } from "../../support/RequestBodies.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { adjustOn, Stack, tenantOn, verified, webhooksOf } from "../../support/Stack.ts"

layer(Stack.layer(), { excludeTestServices: true })("events of a float", (it) => {
  it.effect("tell of an operator's credit and debit, once each, without the note, to an endpoint that asks for them", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const [tenant, other] = [yield* tenantOn(gateway, 0n), yield* tenantOn(gateway, 0n)]
      const own = yield* webhooksOf(gateway, tenant, ["float.credited", "float.debited"])
      const unasked = yield* webhooksOf(gateway, other)
      for (const holder of [tenant, other]) {
        yield* adjustOn(gateway, holder, { direction: "credit", amount: 250_000n, externalId: "bank-17" })
        yield* adjustOn(gateway, holder, { direction: "debit", amount: 50_000n, externalId: "bank-18" })
        // The same one again books nothing, and what is not covered is not booked.
        yield* adjustOn(gateway, holder, { direction: "credit", amount: 250_000n, externalId: "bank-17" })
        yield* adjustOn(gateway, holder, { direction: "debit", amount: 900_000n, externalId: "bank-19" })
      }
      const told = (yield* own.count(2)).map(({ body }) => JSON.parse(body))
      const { items } = JSON.parse((yield* tenant.get("/v1/float/entries?currency=UGX")).text).data
      const credited = told.find(({ type }) => type === "float.credited")
      const debited = told.find(({ type }) => type === "float.debited")
      const common = { reserved_minor: 0, metadata: {}, version: 1, is_test_mode: false, currency: "UGX" }
      const first = { reference: items[0].reference, external_id: "bank-17", created_at: items[0].at }
      const second = { reference: items[1].reference, external_id: "bank-18", created_at: items[1].at }
      expect(credited.data).toStrictEqual({ ...common, ...first, amount_minor: 250_000, available_minor: 250_000 })
      expect(debited.data).toStrictEqual({ ...common, ...second, amount_minor: 50_000, available_minor: 200_000 })
      expect(JSON.stringify(told)).not.toContain("own words")
      const listed = JSON.parse((yield* tenant.get("/v1/webhooks/deliveries")).text).data.items
      expect(listed.map(({ event_type, reference }: Record<string, unknown>) => [event_type, reference])).toStrictEqual([
        ["float.debited", null],
        ["float.credited", null]
      ])
      // Both have the same money; the other one hears of its payout alone.
      const paid = referenceOf(yield* other.post("/v1/payouts", momoPayout("1234")))
      const [heard] = yield* unasked.count(1)
      expect(JSON.parse(heard?.body ?? "")).toMatchObject({ type: "payout.successful", data: { reference: paid } })
      expect(own.received.length).toBe(2)
      expect((yield* verified(gateway)).differences).toEqual([])
    })
  )
})

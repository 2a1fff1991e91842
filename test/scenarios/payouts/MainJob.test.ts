import { it } from "@effect/vitest"
import { Effect } from "effect"
import { Webhook } from "standardwebhooks"
import { describe, expect } from "vitest"
import { givenStack, tenantOn, verified, webhooksOf } from "../../support/Stack.ts"

const momo = (msisdn: string) => ({ type: "momo", msisdn, network: "MTN", country: "UG" })

describe("the main job, over real HTTP", () => {
  it.live("collects, credits the float, quotes, pays out, tells the tenant, and repeats the same bytes", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* givenStack()
      const tenant = yield* tenantOn(gateway, 0n)
      const webhooks = yield* webhooksOf(gateway, tenant)

      const charge = yield* tenant.post("/v1/collections", {
        amount_minor: 50_000,
        currency: "UGX",
        country: "UG",
        method: "momo",
        source: { type: "momo", msisdn: "+256772123456", network: "MTN" },
        metadata: { order: "A-1", big: 1 }
      })
      expect(charge.status).toBe(201)
      expect(charge.body.data).toMatchObject({
        status: "pending",
        kind: "collection",
        masked_source: "••••3456",
        metadata: { order: "A-1", big: 1 }
      })
      yield* tenant.until(`/v1/collections/${charge.body.data.reference}`, ({ status }) => status === "successful")
      expect(yield* tenant.float).toMatchObject({
        currency: "UGX",
        available_minor: 49_250,
        collected_minor: 50_000,
        provider_fees_minor: 750
      })

      const payout = {
        amount_minor: 10_000,
        currency: "UGX",
        country: "UG",
        method: "momo",
        destination: momo("256 772 654 321")
      }
      const quote = yield* tenant.call("POST", "/v1/payouts/quote", payout)
      expect(quote.body.data).toMatchObject({
        fees_minor: 1_000,
        total_amount_minor: 11_000,
        destination_amount_minor: 10_000,
        affordable: true
      })

      const sent = yield* tenant.post("/v1/payouts", payout, "pay-1")
      expect(sent.status).toBe(201)
      expect(sent.body.data).toMatchObject({ status: "pending", fees_minor: 1_000, masked_destination: "••••4321" })
      const { reference } = sent.body.data
      yield* tenant.until(`/v1/transactions/${reference}`, ({ status }) => status === "successful")
      expect(yield* tenant.float).toMatchObject({
        available_minor: 38_250,
        reserved_minor: 0,
        paid_out_minor: 10_000,
        provider_fees_minor: 1_750
      })

      const again = yield* tenant.post("/v1/payouts", payout, "pay-1")
      expect(again.text).toBe(sent.text)
      expect([again.status, again.headers.get("idempotency-replayed")]).toStrictEqual([201, "true"])
      expect(yield* Effect.promise(() => simulator.executions(reference))).toHaveLength(1)

      const received = yield* webhooks.count(2)
      const events = received.map(({ body, headers }) =>
        new Webhook(webhooks.secret).verify(body, headers as Record<string, string>)
      )
      expect(events).toMatchObject([
        { type: "collection.successful", data: { metadata: { order: "A-1", big: 1 }, reference: charge.body.data.reference } },
        { type: "payout.successful", data: { reference } }
      ])
      expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
    }).pipe(Effect.scoped)
  )
})

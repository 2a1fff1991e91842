import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Webhook } from "standardwebhooks"
import { describe } from "vitest"
import { momoPayout } from "../../support/RequestBodies.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { givenStack, tenantOn, verified, webhooksOf } from "../../support/Stack.ts"

const PAYOUTS = "/v1/payouts"
const fast = { WEBHOOK_SCHEDULE: "0s,100ms,200ms,300ms" }

describe("webhooks to tenants", () => {
  it.live("are repeated with the same bytes under the same id until the receiver takes them", () =>
    Effect.gen(function* () {
      const { gateway } = yield* givenStack(fast)
      const tenant = yield* tenantOn(gateway)
      const webhooks = yield* webhooksOf(gateway, tenant, ["payout.successful"], (attempt) => (attempt <= 2 ? 500 : 204))
      const reference = referenceOf(yield* tenant.post(PAYOUTS, momoPayout("1234")))
      const attempts = yield* webhooks.count(3)
      expect(new Set(attempts.map(({ body }) => body)).size).toBe(1)
      expect(new Set(attempts.map(({ headers }) => headers["webhook-id"])).size).toBe(1)
      for (const { body, headers } of attempts) {
        const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
        expect(new Webhook(webhooks.secret).verify(body, sent)).toMatchObject({ id: headers["webhook-id"], data: { reference } })
      }
      // A later event is delivered once: what was taken does not come again.
      const next = referenceOf(yield* tenant.post(PAYOUTS, momoPayout("1234")))
      const all = yield* webhooks.count(4)
      expect(all.map(({ body }) => JSON.parse(body).data.reference)).toStrictEqual([reference, reference, reference, next])
    })
  )

  it.live("carry the metadata unchanged, in its order, and the record's exact bytes", () =>
    Effect.gen(function* () {
      const { gateway } = yield* givenStack(fast)
      const tenant = yield* tenantOn(gateway)
      const webhooks = yield* webhooksOf(gateway, tenant)
      const metadata =
        '{"z":9007199254740993,"a":123456789012345678901234567890,"rate":0.10000000000000000001,"zero":1.0,"e":1e3,"list":[],"name":"Zoë “J”"}'
      const text = JSON.stringify(momoPayout("1234")).replace(/}$/, `,"metadata":${metadata}}`)
      const answer = yield* tenant.post(PAYOUTS, text)
      expect(answer.text).toContain(`"metadata":${metadata},`)
      const reference = referenceOf(answer)
      const [event] = yield* webhooks.count(1)
      expect(event?.body).toContain(`"metadata":${metadata},`)
      const { text: read } = yield* tenant.get(`${PAYOUTS}/${reference}`)
      expect(dataOf(event?.body ?? "")).toBe(dataOf(read))
    })
  )

  it.live("are not needed: without an endpoint everything works, and one that is set later gets what happens from then on", () =>
    Effect.gen(function* () {
      const { gateway } = yield* givenStack(fast)
      const tenant = yield* tenantOn(gateway)
      const silent = referenceOf(yield* tenant.post(PAYOUTS, momoPayout("1234")))
      yield* tenant.until(`${PAYOUTS}/${silent}`, ({ status }) => status === "successful")
      const webhooks = yield* webhooksOf(gateway, tenant)
      const told = referenceOf(yield* tenant.post(PAYOUTS, momoPayout("1234")))
      const [event] = yield* webhooks.count(1)
      expect(JSON.parse(event?.body ?? "")).toMatchObject({ type: "payout.successful", data: { reference: told } })
      expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
    })
  )
})

/** The bytes of `data`, which ends both an event and an answer. */
const dataOf = (text: string): string => text.slice(text.indexOf('"data":'))

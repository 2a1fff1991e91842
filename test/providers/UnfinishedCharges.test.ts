import { expect, it } from "@effect/vitest"
import { Clock, Effect, Redacted } from "effect"
import { describe } from "vitest"
import type { Reference } from "../../src/domain/Ids.ts"
import { flutterwave } from "../../src/providers/flutterwave/Adapter.ts"
import { paystack } from "../../src/providers/paystack/Adapter.ts"
import { wireReference } from "../../src/providers/paystack/Wire.ts"
import { simulatedPayoutFees } from "../../src/simulator/Fees.ts"
import { collectionsOf } from "./contract/Fixture.ts"
import { askOrder, momo, newReference } from "./contract/Orders.ts"
import { answer, stub } from "./ProviderStub.ts"

// What the documents of providers that end no charge for us say of one that its payer left.

const own = { secretKey: Redacted.make("sk_live_1"), emailDomain: "example.com", timeoutMs: 5_000 }
const atPaystack = (reference: Reference, status: string) =>
  Effect.gen(function* () {
    const data = { id: 4099260516, reference: wireReference(reference), status, amount: 40333, currency: "GHS", fees: null }
    const { baseUrl } = yield* stub({ "GET /transaction/verify": [answer(200, { status: true, message: "ok", data })] })
    return yield* paystack({ ...own, baseUrl, fees: simulatedPayoutFees }, "live")
  })
const atFlutterwave = (reference: Reference, status: string) =>
  Effect.gen(function* () {
    const data = { id: 8415006, tx_ref: reference, amount: 2500, currency: "UGX", app_fee: 35, status }
    const found = answer(200, { status: "success", message: "ok", data })
    const { baseUrl } = yield* stub({ "GET /transactions/verify_by_reference": [found] })
    return yield* flutterwave({ ...own, baseUrl, webhookSecretHash: Redacted.make("hash"), sender: null }, "live")
  })

const HOUR = 3_600_000
const ghana = momo("GH", "GHS", "MTN", "23320000")
const page = momo("CI", "XOF", "WAVE", "225070000")
const uganda = momo("UG", "UGX", "MTN", "25677200")

describe("a charge that its payer left, where nothing can end it,", () => {
  it.effect.each([
    ["a prompt of Paystack's", atPaystack, ghana, "abandoned", 180_000],
    ["a page of Paystack's", atPaystack, page, "abandoned", 24 * HOUR],
    ["one of Flutterwave's", atFlutterwave, uganda, "cancelled", 24 * HOUR],
    ["one of Flutterwave's", atFlutterwave, uganda, "abandoned", 24 * HOUR],
    ["one of Flutterwave's", atFlutterwave, uganda, "error", 24 * HOUR]
  ] as const)("is open for as long as it may be paid, and only then its window ends it: %s", ([, at, way, status, lifeMs]) =>
    Effect.gen(function* () {
      const reference = newReference()
      const { fetchStatus } = collectionsOf(yield* at(reference, status))
      const now = yield* Clock.currentTimeMillis
      const ask = yield* askOrder(way, reference)
      const young = yield* fetchStatus({ ...ask, sentAt: now - lifeMs + 1_000, isOver: true })
      expect(young).toMatchObject({ _tag: "StillPending", payableUntil: now + 1_000 })
      expect(young).not.toHaveProperty("isUnfinished")
      const old = yield* fetchStatus({ ...ask, sentAt: now - lifeMs, isOver: true })
      expect(old).toMatchObject({ isUnfinished: true })
      expect(old).not.toHaveProperty("payableUntil")
    })
  )

  it.effect("is not known where its page was not visited yet, and is open as long", () =>
    Effect.gen(function* () {
      const reference = newReference()
      const unknown = answer(404, { status: "error", message: "No transaction was found for this id", data: null })
      const { baseUrl } = yield* stub({ "GET /transactions/verify_by_reference": [unknown, unknown, unknown] })
      const settings = { ...own, baseUrl, webhookSecretHash: Redacted.make("hash"), sender: null }
      const { fetchStatus } = collectionsOf(yield* flutterwave(settings, "live"))
      const now = yield* Clock.currentTimeMillis
      const ask = { ...(yield* askOrder(uganda, reference, reference)), isOver: true } as const
      const young = yield* fetchStatus({ ...ask, sentAt: now - 24 * HOUR + 1_000 })
      expect(young).toMatchObject({ _tag: "StillPending", providerReference: reference, payableUntil: now + 1_000 })
      expect(young).not.toHaveProperty("isUnfinished")
      expect(yield* fetchStatus({ ...ask, sentAt: now - 24 * HOUR })).toMatchObject({ _tag: "NotFound" })
      // Where the answer to it was lost its payer was never sent to the page.
      expect(yield* fetchStatus({ ...ask, sentAt: now, providerReference: null })).toMatchObject({ _tag: "NotFound" })
    })
  )
})

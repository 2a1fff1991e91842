import { expect, it } from "vitest"
import { type AmountCap, type CapWindow, capsOn, capWindowUse } from "../../src/domain/AmountCaps.ts"
import { minor } from "../../src/domain/Money.ts"
import { appId, caller } from "../support/PaymentRequests.ts"

const AT = Date.parse("2026-11-29T19:20:30.456Z")
const HOUR = ["2026-11-29T19:00:00.000Z", "2026-11-29T20:00:00.000Z"].map(Date.parse)
const DAY = ["2026-11-29T00:00:00.000Z", "2026-11-30T00:00:00.000Z"].map(Date.parse)

const capOf = (window: CapWindow, change: Partial<AmountCap> = {}): AmountCap => ({
  mode: "live",
  direction: "payout",
  window,
  currency: "UGX",
  amount: minor(50_000n),
  ...change
})

it.each([
  ["hour", "hour", "tenant", "", HOUR],
  ["day", "day", "tenant", "", DAY],
  ["destination", "destination", "destination", "0aff", HOUR],
  ["destination_day", "destination", "destination", "0aff", DAY],
  ["key", "hour", "key", caller.keyId, HOUR],
  ["key_day", "day", "key", caller.keyId, DAY]
] as const)(
  "the cap %s adds up amounts of a UTC hour or day, of whom it is for",
  (...[window, shown, of, subject, [startsAt, endsAt]]) => {
    expect(capWindowUse(capOf(window), { caller, party: "0aff", at: AT }, 4_000n)).toStrictEqual({
      appId,
      mode: "live",
      name: `payout:${window}:UGX`,
      subject,
      startsAt,
      endsAt,
      amount: 4_000n,
      bound: 50_000n,
      window: shown,
      cap: { of, currency: "UGX" }
    })
  }
)

it("only caps of the mode, the direction and the currency hold, the tenant's first", () => {
  const hour = capOf("hour")
  const key = capOf("key")
  const others = [capOf("day", { mode: "test" }), capOf("day", { direction: "collection" }), capOf("day", { currency: "KES" })]
  expect(capsOn([key, ...others, hour], { mode: "live", direction: "payout", currency: "UGX" })).toStrictEqual([hour, key])
})

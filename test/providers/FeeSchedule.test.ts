import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Result } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Environment, settings } from "../../src/Config.ts"
import { largestAmountWithin } from "../../src/domain/DeductedFee.ts"
import { minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import type { Payout } from "../../src/domain/Payment.ts"
import { chargeFee, contractFee, fallsIn, feeBy, type PricedPayment, payoutFees } from "../../src/providers/ContractFees.ts"
import { readSchedule } from "../../src/providers/FeeSchedule.ts"
import { pricedPlaces } from "../../src/providers/mtn/Networks.ts"
import { pricedPlaces as paystackPlaces } from "../../src/providers/paystack/Networks.ts"
import { contractQuote } from "../../src/providers/Quotes.ts"
import { contractPrices } from "../../src/providers/Registry.ts"
import { payout } from "../support/SampleTransactions.ts"
import { momo, quoteOrder } from "./contract/Orders.ts"

const read = (entries: unknown, places = pricedPlaces) => readSchedule(Buffer.from(JSON.stringify(entries)), places)
const scheduleOf = (...entries: ReadonlyArray<object>) => Result.getOrThrow(read(entries))
const mistakesOf = (...entries: ReadonlyArray<unknown>) =>
  Result.match(read(entries), { onFailure: (all) => all, onSuccess: () => [] })
const plain = { direction: "payout", currency: "UGX", from: "2026-01-01", flat: 1000 }
const at = (text: string) => Date.parse(text)
const payment: PricedPayment = {
  direction: "payout",
  country: "UG",
  currency: "UGX",
  method: "momo",
  network: "MTN",
  amount: minor(50_000n),
  at: at("2026-06-01T00:00:00Z")
}

describe("a schedule of fees", () => {
  it("has a percentage, a flat part, a minimum, a maximum and bands by amount (38.11)", () => {
    const bands = [
      { up_to: 5000, flat: 100 },
      { up_to: 100_000, percent: "1.5", flat: 50, minimum: 200 },
      { percent: "0.3333", maximum: 900 }
    ]
    const fees = scheduleOf({ direction: "payout", currency: "UGX", from: "2026-01-01", bands })
    const costs = (amount: bigint) => contractFee(fees, { ...payment, amount: minor(amount) })
    expect([1n, 5000n, 5001n, 100_000n, 100_001n, 9_000_000n].map(costs)).toStrictEqual([100n, 100n, 200n, 1550n, 334n, 900n])
  })

  it("holds by its most specific entry, and by the newest version of that which has begun", () => {
    const fees = [
      ...scheduleOf(
        plain,
        { ...plain, country: "UG", flat: 900 },
        { ...plain, country: "UG", network: "MTN", flat: 800 },
        { ...plain, country: "UG", from: "2026-07-01T00:00:00+03:00", flat: 700 }
      ),
      ...(payoutFees.of("UGX:momo:1,GHS:momo:2") ?? [])
    ]
    const cost = (change: Partial<PricedPayment>) => contractFee(fees, { ...payment, ...change })
    const other = { network: null } as const
    expect(cost({})).toBe(800n)
    expect(cost(other)).toBe(900n)
    expect(cost({ ...other, at: at("2026-06-30T20:59:59Z") })).toBe(900n)
    expect(cost({ ...other, at: at("2026-06-30T21:00:00Z") })).toBe(700n)
    // Before the schedule begins, and where it says nothing, the plain settings hold.
    expect(cost({ at: at("2025-12-31T23:59:59Z") })).toBe(1n)
    expect(cost({ country: "GH", currency: "GHS" })).toBe(2n)
    expect(cost({ country: "ZM", currency: "ZMW" })).toBeUndefined()
  })

  it("rounds up, is never negative, never above its maximum, and does not fall within a band", () => {
    const units = fc.bigInt({ min: 0n, max: 9_007_199_254_740_991n })
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 100_000_000n }),
        fc.tuple(units, units),
        units,
        units,
        (share, [flat, top], one, other) => {
          const band = { upTo: null, share, flat, minimum: 0n, maximum: top }
          const fee = (amount: bigint) => feeBy({ bands: [band] }, minor(amount))
          const [less, more] = one < other ? [one, other] : [other, one]
          expect(fee(less) >= 0n && fee(more) <= top && fee(less) <= fee(more)).toBe(true)
          const exact = one * share
          const up = feeBy({ bands: [{ ...band, flat: 0n, maximum: null }] }, minor(one)) * 100_000_000n
          expect(up >= exact && up - exact < 100_000_000n).toBe(true)
        }
      )
    )
  })

  it("is refused with the name of each entry that is wrong", () => {
    const wrong: ReadonlyArray<readonly [object, RegExp]> = [
      [{ ...plain, fromm: "2026-01-01" }, /^entry 1 payout UGX 2026-01-01 has a member "fromm"/],
      [{ ...plain, flat: -1 }, /flat that is no whole number/],
      [{ ...plain, flat: 1.5 }, /flat that is no whole number/],
      [{ ...plain, percent: 1.5 }, /percent that is no text/],
      [{ ...plain, percent: "100.000001" }, /from 0 to 100/],
      [{ ...plain, minimum: 2, maximum: 1 }, /minimum 2, which is more than its maximum 1/],
      [{ ...plain, country: "UX" }, /country "UX"/],
      [{ ...plain, country: "UG", network: "MTM" }, /network "MTM": .* has MTN/],
      [{ ...plain, currency: "UGS" }, /currency "UGS"/],
      [{ ...plain, currency: "KES" }, /currency "KES"/],
      [{ ...plain, direction: "payuot" }, /direction "payuot": it is one of collection, payout/],
      [{ ...plain, from: "2026-02-30" }, /from "2026-02-30"/],
      [{ direction: "payout", currency: "UGX", from: "2026-01-01" }, /neither percent nor flat/],
      [{ ...plain, bands: [{ flat: 1 }] }, /has bands and flat/],
      [{ ...plain, fee_on_return: "back" }, /fee_on_return "back": it is one of stays, returns/],
      [{ ...plain, direction: "collection", fee_on_return: "returns" }, /only a payout's fee comes back by itself/]
    ]
    for (const [entry, why] of wrong) expect(mistakesOf(entry)).toStrictEqual([expect.stringMatching(why)])
    const banded = (...bands: ReadonlyArray<object>) =>
      mistakesOf({ direction: "payout", currency: "UGX", from: "2026-01-01", bands })
    expect(banded({ up_to: 10, flat: 1 })).toStrictEqual([expect.stringMatching(/band 1 ends at 10: the last has no up_to/)])
    expect(banded({ flat: 1 }, { flat: 2 })).toStrictEqual([expect.stringMatching(/band 1 has no up_to/)])
    expect(banded({ up_to: 10, flat: 1 }, { up_to: 10, flat: 1 }, { flat: 2 })).toStrictEqual([
      expect.stringMatching(/they rise/)
    ])
    expect(mistakesOf(plain, { ...plain, country: "UG" }, plain)).toStrictEqual([
      expect.stringMatching(/^entry 3 .* and entry 1 .* same moment/)
    ])
    expect(mistakesOf({ ...plain, country: "UG" }, { ...plain, method: "momo" })).toStrictEqual([
      expect.stringMatching(/neither says more/)
    ])
    expect(Result.isFailure(readSchedule(Buffer.from('[{"flat":1,"flat":2}]'), pricedPlaces))).toBe(true)
    expect(Result.isFailure(read([{ ...plain, direction: "collection", currency: "GHS" }], paystackPlaces))).toBe(true)
  })

  it("is checked at the start, stands in for the plain settings, and says which entry holds", () => {
    const folder = mkdtempSync(join(tmpdir(), "fees-"))
    const file = join(folder, "fees.json")
    const account = { PAYSTACK_BASE_URL: "https://api.paystack.co", PAYSTACK_LIVE_SECRET_KEY: "sk", PAYSTACK_FEE_SCHEDULE: file }
    const start = () => Effect.runSyncExit(Effect.provideService(settings, Environment, account))
    const entry = { direction: "payout", currency: "GHS", from: "2026-01-01", percent: "1" }
    try {
      expect(JSON.stringify(start())).toContain(`PAYSTACK_FEE_SCHEDULE: there is no file ${file} that can be read`)
      writeFileSync(file, JSON.stringify([{ ...entry, network: "VODA" }]))
      expect(JSON.stringify(start())).toContain("PAYSTACK_FEE_SCHEDULE: entry 1 payout GHS VODA 2026-01-01 has the network")
      writeFileSync(file, JSON.stringify([entry]))
      const started = start()
      if (started._tag === "Failure") throw new Error(String(started.cause))
      const ghana = { ...payment, country: "GH" }
      expect(contractPrices(started.value.providers, ghana, null)).toStrictEqual([
        { provider: "paystack", entry: "entry 1 payout GHS 2026-01-01", currency: "GHS", amount_minor: 50_000n, fee_minor: 500n }
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe("the fee of a payment that was accepted", () => {
  it("is the one that was fixed when it was opened, whatever the schedule says by then", () => {
    const fees = scheduleOf({ ...plain, direction: "collection", flat: 700 })
    const charge = { country: "UG", method: "momo", network: "MTN", amount: minor(50_000n), fee: minor(300n) } as const
    const query = { charge, currency: "UGX", sentAt: payment.at } as const
    expect(chargeFee(fees, query)(minor(50_000n))).toBe(300n)
    // The fee of another amount is another one, and an older record kept none: both by the moment when it was opened.
    expect(chargeFee(fees, query)(minor(40_000n))).toBe(700n)
    expect(chargeFee(fees, { ...query, charge: { ...charge, fee: null } })(minor(50_000n))).toBe(700n)
    expect(chargeFee(fees, { ...query, sentAt: 0 })(minor(40_000n))).toBeNull()
  })

  it("comes back with a payout that comes back whole only where the schedule says so", () => {
    const order = quoteOrder(momo("UG", "UGX", "MTN", "+25677000"), "1234")
    const quoted = (fee_on_return: object) => contractQuote(order, scheduleOf({ ...plain, ...fee_on_return }), payment.at)
    expect(quoted({ fee_on_return: "returns" })).toMatchObject({ fee: 1000n, feeReturns: true })
    for (const stays of [{}, { fee_on_return: "stays" }]) expect(quoted(stays)).not.toHaveProperty("feeReturns")
    const paid = payout({ status: "successful", fees: minor(700n), completedAt: 0 })
    const back = { amount: minor(10_000n), currency: "UGX", fee: minor(0n), charged: null, at: 1, note: "" } as const
    const returned = (record: Payout, amount = back.amount) =>
      decide(record, { _tag: "Returned", ...back, amount }, "reconciler", 2).next
    expect(returned(paid)).toMatchObject({ returned: { amount: 10_000n } })
    expect(returned({ ...paid, feeReturns: true })).toMatchObject({ returned: { amount: 10_700n } })
    expect(returned({ ...paid, feeReturns: true }, minor(4_000n))).toMatchObject({ returned: { amount: 4_000n } })
  })

  it("is quoted no longer than the schedule says the same", () => {
    const fees = scheduleOf(plain, { ...plain, from: "2026-06-02", flat: 2000 })
    const order = quoteOrder(momo("UG", "UGX", "MTN", "+25677000"), "1234")
    const quoted = (now: string) => contractQuote(order, fees, at(now))
    expect(quoted("2026-06-01T12:00:00Z")).toMatchObject({ fee: 1000n, expiresInMs: 1_800_000 })
    expect(quoted("2026-06-01T23:50:00Z")).toMatchObject({ fee: 1000n, expiresInMs: 600_000 })
    expect(quoted("2026-06-02T00:00:00Z")).toMatchObject({ fee: 2000n, expiresInMs: 1_800_000 })
  })

  it("is deducted to the last unit, also where it falls from band to band (38.11)", () => {
    const band = fc.record({
      step: fc.bigInt({ min: 1n, max: 120n }),
      share: fc.bigInt({ min: 0n, max: 20_000_000n }),
      flat: fc.bigInt({ min: 0n, max: 40n })
    })
    fc.assert(
      fc.property(
        fc.array(band, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 0, max: 60 }),
        (parts, budget, floor) => {
          let end = 0n
          const bands = parts.map(({ flat, share, step }, index) => {
            end += step
            return { upTo: index === parts.length - 1 ? null : end, share, flat, minimum: 0n, maximum: null }
          })
          const fallsAt = fallsIn({ bands })
          const fee = (amount: bigint) => feeBy({ bands }, minor(amount))
          const found = Effect.runSync(
            largestAmountWithin(minor(BigInt(budget)), minor(BigInt(floor)), (amount) =>
              Effect.succeed({ fee: fee(amount), fallsAt })
            )
          )
          let best = -1n
          for (let amount = BigInt(Math.max(floor, 1)); amount <= budget; amount++)
            if (amount + fee(amount) <= budget) best = amount
          expect(found.reachesMinimum).toBe(best >= 0n)
          if (best >= 0n) expect(found.amount).toBe(best)
        }
      )
    )
  })
})

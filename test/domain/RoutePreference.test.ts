import { it } from "@effect/vitest"
import * as fc from "fast-check"
import { describe, expect } from "vitest"
import {
  AHEAD_BY,
  cheapestFirst,
  nextRouteOrder,
  OVERTAKEN_MS,
  orderedBySuccess,
  PRICE_KEPT_MS,
  type RouteOrder,
  type RouteSuccess,
  rankingOf,
  SAMPLE_AT_LEAST,
  successOf,
  successText,
  TRIAL_SAMPLE_AT_LEAST
} from "../../src/domain/RoutePreference.ts"
import { QUOTE_LIFE_MS } from "../../src/providers/Quotes.ts"
import { NOON } from "../support/SampleTransactions.ts"

const MINUTE = 60_000
const rate = (percent: number, of = 100): RouteSuccess => {
  const successful = Math.round((percent * of) / 100)
  return { successful, failed: of - successful }
}
const successes = (rates: Readonly<Record<string, RouteSuccess>>) => new Map(Object.entries(rates))

const names = fc.uniqueArray(fc.constantFrom("airtel", "flutterwave", "pawapay", "mtn", "eversend"), { minLength: 2 })
const rates = fc.dictionary(
  fc.constantFrom("airtel", "flutterwave", "pawapay", "mtn", "eversend"),
  fc.record({ successful: fc.nat({ max: 400 }), failed: fc.nat({ max: 100 }) })
)
const shareOf = (success: RouteSuccess | undefined): number | null => {
  const { failed, successful } = success ?? { failed: 0, successful: 0 }
  return successful + failed < SAMPLE_AT_LEAST ? null : successful / (successful + failed)
}

describe("providers by their success", () => {
  it("change places where the one behind is clearly better, and only there", () => {
    const row = ["flutterwave", "pawapay", "airtel"]
    const by = (of: Readonly<Record<string, RouteSuccess>>, present = row) => orderedBySuccess(row, present, successes(of))
    expect(by({ flutterwave: rate(90), pawapay: rate(99), airtel: rate(97) })).toEqual(["pawapay", "airtel", "flutterwave"])
    expect(by({ flutterwave: rate(96), pawapay: rate(99), airtel: rate(98) })).toEqual(row)
    // Neither the way there nor the way back is taken for less.
    expect(by({ flutterwave: rate(92), pawapay: rate(93) }, ["pawapay", "flutterwave", "airtel"])).toEqual([
      "pawapay",
      "flutterwave",
      "airtel"
    ])
  })

  it("of which too little is known are overtaken by nobody, and tried instead of one that is known to fail", () => {
    const row = ["flutterwave", "airtel"]
    const few = rate(0, SAMPLE_AT_LEAST - 1)
    const by = (of: Readonly<Record<string, RouteSuccess>>, present = row) => orderedBySuccess(row, present, successes(of))
    expect(by({ flutterwave: few, airtel: rate(100) })).toEqual(row)
    expect(by({ flutterwave: rate(66) })).toEqual(row)
    expect(by({ flutterwave: rate(64), airtel: few })).toEqual(["airtel", "flutterwave"])
  })

  it("once overtaken go back where their own payments show that they are as good, and not because these are forgotten", () => {
    const row = ["flutterwave", "airtel"]
    const [back, stays] = [row, ["airtel", "flutterwave"]]
    const by = (of: Readonly<Record<string, RouteSuccess>>) => orderedBySuccess(row, stays, successes(of))
    expect(by({ airtel: rate(100) })).toEqual(stays)
    expect(by({})).toEqual(stays)
    expect(by({ airtel: rate(98), flutterwave: rate(100, TRIAL_SAMPLE_AT_LEAST - 1) })).toEqual(stays)
    expect(by({ airtel: rate(98), flutterwave: rate(97) })).toEqual(stays)
    expect(by({ airtel: rate(98), flutterwave: rate(100, TRIAL_SAMPLE_AT_LEAST) })).toEqual(back)
    // Two days without a payment that says anything.
    const order = { configured: row, providers: stays, previous: row, changedAt: NOON }
    const after = (ms: number, of: Readonly<Record<string, RouteSuccess>>) =>
      nextRouteOrder(row, order, successes(of), NOON + ms)?.providers ?? null
    expect(after(OVERTAKEN_MS - 10 * MINUTE, { airtel: rate(98) })).toBeNull()
    expect(after(OVERTAKEN_MS + 2 * MINUTE, { airtel: rate(98), flutterwave: rate(0, TRIAL_SAMPLE_AT_LEAST) })).toBeNull()
    expect(after(OVERTAKEN_MS + 2 * MINUTE, { airtel: rate(98) })).toEqual(back)
  })

  it("are the row's own, each once, whatever was counted", () => {
    fc.assert(
      fc.property(names, rates, fc.integer(), (row, counted, seed) => {
        const present = [...row].sort((one, other) => ((one.length + seed) % 3) - ((other.length + seed) % 3))
        const ordered = orderedBySuccess(row, present, successes(counted))
        expect([...ordered].sort()).toEqual([...row].sort())
        // With as many payments of each, nothing moves when it is asked again.
        const isClear = Object.values(counted).every(({ failed, successful }) => successful + failed >= SAMPLE_AT_LEAST)
        if (isClear) expect(orderedBySuccess(row, ordered, successes(counted))).toEqual(ordered)
        for (const [place, name] of ordered.entries()) {
          const [share, ahead] = [shareOf(counted[name]), shareOf(counted[ordered[place - 1] ?? ""])]
          if (share !== null && ahead !== null) expect(share - ahead).toBeLessThan(AHEAD_BY)
        }
      })
    )
  })

  it("change at most once in the time that a price is kept, and never by less than the margin away from the row", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            minutes: fc.integer({ min: 1, max: 40 }),
            one: fc.integer({ min: 90, max: 94 }),
            two: fc.integer({ min: 88, max: 100 })
          }),
          { maxLength: 60 }
        ),
        (looks) => {
          let order: RouteOrder | null = null
          let at = NOON
          const changes: Array<number> = []
          for (const { minutes, one, two } of looks) {
            at += minutes * MINUTE
            const before: ReadonlyArray<string> = order === null ? ["one", "two"] : order.providers
            const next: RouteOrder | null = nextRouteOrder(
              ["one", "two"],
              order,
              successes({ one: rate(one), two: rate(two) }),
              at
            )
            if (next === null) continue
            expect(next.previous).toEqual(before)
            // Away from the row by the margin, and back to it where that one is as good.
            expect(next.providers[0] === "two" ? two - one : one - two).toBeGreaterThanOrEqual(
              next.providers[0] === "two" ? AHEAD_BY * 100 : 0
            )
            changes.push(at)
            order = next
          }
          for (const [place, change] of changes.entries())
            if (place > 0) expect(change - (changes[place - 1] ?? 0)).toBeGreaterThanOrEqual(PRICE_KEPT_MS)
        }
      )
    )
  })

  it("are counted without what the customer failed, and with what never left, each payment once", () => {
    const counts = [
      { result: "answered", count: 100 },
      { result: "successful", count: 60 },
      { result: "customer", count: 30 },
      { result: "failed", count: 2 },
      { result: "silent", count: 3 },
      { result: "not_sent", count: 5 }
    ] as const
    expect(successOf(counts)).toEqual({ successful: 60, failed: 7 })
    expect(successText(successOf(counts))).toBe("89 % of 67")
    // Answered late, and paid; silent, and failed in the end.
    const late = [
      { result: "answered", count: 90 },
      { result: "silent", count: 25 },
      { result: "successful", count: 100 },
      { result: "failed", count: 15 }
    ] as const
    expect(successOf(late)).toEqual({ successful: 100, failed: 15 })
    expect(successText(rate(100, 12))).toBe("too few, 12")
  })

  it("of another row say nothing about this one", () => {
    const order = { configured: ["one", "two"], providers: ["two", "one"], previous: ["one", "two"], changedAt: NOON }
    expect(nextRouteOrder(["one", "two", "three"], order, new Map(), NOON + 1)).toBeNull()
    const better = successes({ one: rate(50), three: rate(99) })
    expect(nextRouteOrder(["one", "two", "three"], order, better, NOON + 1)).toMatchObject({
      previous: ["one", "two", "three"],
      providers: ["two", "three", "one"]
    })
  })
})

describe("the ranking of a payment", () => {
  const order = { configured: ["one", "two"], providers: ["two", "one"], previous: ["one", "two"], changedAt: NOON }

  it("is the row's own order where no other one is preferred", () => {
    const asRow = { providers: ["one", "two"], compared: [], keptUntil: null }
    expect(rankingOf(["one", "two"], "order", order, NOON)).toEqual(asRow)
    expect(rankingOf(["one", "two"], "success", null, NOON)).toEqual(asRow)
    expect(rankingOf(["two"], "price", null, NOON)).toEqual({ providers: ["two"], compared: [], keptUntil: null })
  })

  it("compares the first with the one before it for as long as a shown price may hold", () => {
    expect(rankingOf(["one", "two"], "success", order, NOON + PRICE_KEPT_MS - 1)).toEqual({
      providers: ["two", "one"],
      compared: ["two", "one"],
      keptUntil: NOON + PRICE_KEPT_MS
    })
    expect(rankingOf(["one", "two"], "success", order, NOON + PRICE_KEPT_MS)).toEqual({
      providers: ["two", "one"],
      compared: [],
      keptUntil: null
    })
    // A node learns of a change within seconds: until then it shows prices of the order before.
    expect(QUOTE_LIFE_MS + 60_000).toBeLessThanOrEqual(PRICE_KEPT_MS)
  })

  it("only reorders those that are able", () => {
    fc.assert(
      fc.property(names, names, fc.constantFrom("order", "success", "price"), fc.nat(), (able, known, preference, after) => {
        const any = { configured: known, providers: known.toReversed(), previous: known, changedAt: NOON }
        const { compared, providers } = rankingOf(able, preference, any, NOON + after)
        expect([...providers].sort()).toEqual([...able].sort())
        expect(compared.filter((name) => !providers.includes(name))).toEqual([])
      })
    )
  })
})

describe("prices", () => {
  const price = fc.option(fc.record({ total: fc.bigInt(1n, 10n ** 15n), arrives: fc.bigInt(1n, 10n ** 15n) }), { nil: null })

  it("put the one first of which most arrives for what leaves; at the same price the order stays", () => {
    const all = [
      { name: "dear", total: 10_500n, arrives: 10_000n },
      { name: "cheap", total: 10_100n, arrives: 10_000n },
      { name: "unknown", total: 0n, arrives: 0n },
      { name: "cheap, too", total: 10_100n, arrives: 10_000n },
      // A deducted fee: the same leaves, and less arrives.
      { name: "deducted", total: 10_000n, arrives: 9_800n }
    ]
    const ordered = cheapestFirst(all, (one) => (one.name === "unknown" ? null : one))
    expect(ordered.map(({ name }) => name)).toEqual(["cheap", "cheap, too", "unknown", "deducted", "dear"])
  })

  it("lose and double nobody, and leave those without a price where they are", () => {
    fc.assert(
      fc.property(fc.array(price, { maxLength: 6 }), (prices) => {
        const all = prices.map((value, place) => ({ value, place }))
        const ordered = cheapestFirst(all, ({ value }) => value)
        expect(ordered.map(({ place }) => place).sort()).toEqual(all.map(({ place }) => place))
        for (const [place, { value }] of all.entries()) if (value === null) expect(ordered[place]?.place).toBe(place)
        const priced = ordered.flatMap(({ value }) => (value === null ? [] : [value]))
        for (const [place, value] of priced.entries()) {
          const before = priced[place - 1]
          if (before !== undefined) expect(before.arrives * value.total >= value.arrives * before.total).toBe(true)
        }
      })
    )
  })
})

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  LOOK_BACK_MS,
  nextRouteOrder,
  PRICE_KEPT_MS,
  type RouteOrder,
  rankingOf,
  TRIAL_EVERY_MS,
  trialAt
} from "../../src/domain/RoutePreference.ts"
import { NOON } from "../support/SampleTransactions.ts"

const MINUTE = 60_000
const HOUR = 60
const row = ["bad", "good"]

interface Sent {
  readonly minute: number
  readonly to: string
  readonly isPaid: boolean
}

/** A corridor of so many payments a minute. `isUp` says of a provider, a minute and what it took within that minute before whether the next is paid. */
const run = (
  minutes: number,
  perMinute: number,
  isUp: (to: string, minute: number, taken: number) => boolean,
  known: ReadonlyArray<Sent> = []
) => {
  const sent: Array<Sent> = [...known]
  const changes: Array<readonly [minute: number, first: string]> = []
  let order: RouteOrder | null = null
  for (let minute = 0; minute < minutes; minute++) {
    const at = NOON + minute * MINUTE
    const hour = sent.filter((one) => one.minute >= minute - LOOK_BACK_MS / MINUTE)
    const of = (name: string, isPaid: boolean) => hour.filter((one) => one.to === name && one.isPaid === isPaid).length
    const success = new Map(row.map((name) => [name, { successful: of(name, true), failed: of(name, false) }] as const))
    const next: RouteOrder | null = nextRouteOrder(row, order, success, at)
    if (next !== null) {
      order = next
      changes.push([minute, next.providers[0] ?? ""])
    }
    const [to = ""] = rankingOf(row, "success", order, at).providers
    for (let taken = 0; taken < perMinute; taken++) sent.push({ minute, to, isPaid: isUp(to, minute, taken) })
  }
  const own = sent.slice(known.length)
  return { changes, sent: own, shareOfBad: own.filter(({ to }) => to === "bad").length / own.length }
}

const goodOnly = (to: string) => to === "good"
const fortyGood = Array.from({ length: 40 }, () => ({ minute: -1, to: "good", isPaid: true }))

describe("a first provider that fails every payment", () => {
  it("is left within its sample, and keeps a twentieth of the payments at most, whether the other one is known or not", () => {
    for (const known of [[], fortyGood]) {
      const { changes, shareOfBad } = run(10 * HOUR, 20, goodOnly, known)
      expect(changes).toEqual([[2, "good"]])
      expect(shareOfBad).toBeGreaterThan(0.02)
      expect(shareOfBad).toBeLessThan(0.05)
    }
  })

  it("keeps no more where too few payments come to know it again", () => {
    const { shareOfBad } = run(200 * HOUR, 1, goodOnly)
    expect(shareOfBad).toBeLessThan(0.05)
  })

  it("is first again an hour after its recovery", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2 * HOUR, max: 6 * HOUR }), (recovery) => {
        const { changes } = run(recovery + 2 * HOUR, 20, (to, minute) => to === "good" || minute >= recovery)
        expect(changes.map(([, first]) => first)).toEqual(["good", "bad"])
        // The last of its failed trials counts until it is an hour old.
        expect((changes[1]?.[0] ?? 0) - recovery).toBeLessThanOrEqual(LOOK_BACK_MS / MINUTE + 2)
      }),
      { numRuns: 20 }
    )
  })

  it("does not keep the payments of half an hour where it came back and fails again", () => {
    // It is up for its trials alone: whenever it gets the traffic of more than a minute in a row, it fails.
    let before = -1
    let since = -1
    const { changes, shareOfBad } = run(10 * HOUR, 20, (to, minute) => {
      if (to === "good") return true
      if (minute > before + 1) since = minute
      before = minute
      return minute === since && minute > 2
    })
    for (const [place, [minute, first]] of changes.entries())
      if (first === "good" && place > 0) expect(minute - (changes[place - 1]?.[0] ?? 0)).toBeLessThanOrEqual(4)
    expect(shareOfBad).toBeLessThan(0.1)
  })
})

describe("two that both fail", () => {
  it("are tried in turn, and change places no more often than a shown price may hold", () => {
    const { changes } = run(10 * HOUR, 20, () => false)
    expect(changes.length).toBeGreaterThan(1)
    for (const [place, [minute]] of changes.entries())
      if (place > 0) expect(minute - (changes[place - 1]?.[0] ?? 0)).toBeGreaterThanOrEqual(PRICE_KEPT_MS / MINUTE)
  })
})

describe("a trial", () => {
  const order = { configured: row, providers: ["good", "bad"], previous: row, changedAt: NOON }
  const atTrial = NOON + PRICE_KEPT_MS + TRIAL_EVERY_MS - MINUTE

  it("puts the overtaken one first only where it is not dearer, and ends a price that it showed", () => {
    const trial = { providers: ["bad", "good"], compared: ["good", "bad"], keptUntil: atTrial + MINUTE }
    expect(rankingOf(row, "success", order, atTrial)).toEqual(trial)
    expect(rankingOf(row, "success", order, atTrial - 1).providers).toEqual(["good", "bad"])
    expect(rankingOf(row, "success", order, atTrial + MINUTE).providers).toEqual(["good", "bad"])
    const recovered = new Map(row.map((name) => [name, { successful: 100, failed: 0 }] as const))
    expect(nextRouteOrder(row, order, recovered, atTrial)).toBeNull()
    expect(nextRouteOrder(row, order, recovered, atTrial + MINUTE)?.providers).toEqual(row)
  })

  it("is of one overtaken provider after the other, and of none that stands where the row has it", () => {
    const three = { configured: ["a", "b", "c"], providers: ["c", "a", "b"], previous: ["a", "b", "c"], changedAt: NOON }
    expect([0, 1, 2].map((nth) => trialAt(three, atTrial + nth * TRIAL_EVERY_MS)?.provider)).toEqual(["a", "b", "a"])
    expect(trialAt({ ...order, providers: row }, atTrial)).toBeNull()
  })
})

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type ClockLeap, passedAtLeast, withLeap } from "../../src/domain/ClockLeaps.ts"

/** What a clock does: it goes on, is set forward, or is set back. Milliseconds. */
const moves = fc.array(
  fc.record({ does: fc.constantFrom("goes on", "forward", "back"), by: fc.integer({ min: 1, max: 3_600_000 }) }),
  { maxLength: 400 }
)

/** The clock, the time that really passed, and what a process that watches knows of it. */
interface Watched {
  readonly shown: number
  readonly passed: number
  readonly leaps: ReadonlyArray<ClockLeap>
}

const play = (clock: Watched, { by, does }: { readonly does: string; readonly by: number }): Watched => {
  const { leaps, passed, shown } = clock
  if (does === "goes on") return { ...clock, shown: shown + by, passed: passed + by }
  if (does === "back") return { ...clock, shown: shown - by }
  return { shown: shown + by, passed, leaps: withLeap(leaps, { from: shown, to: shown + by }) }
}

describe("the time that passed at least by a clock that leaps", () => {
  it("is never more than the time that passed, however often the clock is set", () => {
    fc.assert(
      fc.property(moves, moves, (before, after) => {
        const then = before.reduce(play, { shown: 0, passed: 0, leaps: [] })
        const now = after.reduce(play, then)
        expect(passedAtLeast(now.leaps, then.shown, now.shown)).toBeLessThanOrEqual(now.passed - then.passed)
        expect(now.leaps.length).toBeLessThanOrEqual(100)
      })
    )
  })

  it("is all that passed where the clock was never set back", () => {
    const forward = moves.map((all) => all.filter(({ does }) => does !== "back").slice(0, 90))
    fc.assert(
      fc.property(forward, forward, (before, after) => {
        const then = before.reduce(play, { shown: 0, passed: 0, leaps: [] })
        const now = after.slice(0, 90 - then.leaps.length).reduce(play, then)
        expect(passedAtLeast(now.leaps, then.shown, now.shown)).toBe(now.passed - then.passed)
      })
    )
  })

  it("does not end while nobody watched the clock since ever", () => {
    const leaps = withLeap([], { from: Number.NEGATIVE_INFINITY, to: 1_000 })
    expect([passedAtLeast(leaps, 0, 1_000), passedAtLeast(leaps, 0, 1_010), passedAtLeast(leaps, 1_004, 1_010)]).toStrictEqual([
      0, 10, 6
    ])
  })
})

const leap = (from: number, to: number): ClockLeap => ({ from, to })
const leaping = (...leaps: ReadonlyArray<ClockLeap>) => leaps.reduce(withLeap, [] as ReadonlyArray<ClockLeap>)

describe("the leaps that are known", () => {
  it.each<readonly [string, ReadonlyArray<ClockLeap>, ReadonlyArray<ClockLeap>]>([
    ["one", [leap(10, 20)], [leap(10, 20)]],
    ["two apart", [leap(10, 20), leap(30, 40)], [leap(10, 20), leap(30, 40)]],
    ["two apart, the later one first", [leap(30, 40), leap(10, 20)], [leap(10, 20), leap(30, 40)]],
    ["three, the one between them last", [leap(50, 60), leap(10, 20), leap(30, 40)], [leap(10, 20), leap(30, 40), leap(50, 60)]],
    ["the same twice, after the clock was set back", [leap(10, 20), leap(10, 20)], [leap(10, 20)]],
    ["one that begins where the other ends", [leap(10, 20), leap(20, 30)], [leap(10, 30)]],
    ["one that ends where the other begins", [leap(20, 30), leap(10, 20)], [leap(10, 30)]],
    ["one that begins a millisecond after the other", [leap(10, 20), leap(21, 30)], [leap(10, 20), leap(21, 30)]],
    ["one that ends a millisecond before the other", [leap(21, 30), leap(10, 20)], [leap(10, 20), leap(21, 30)]],
    ["one over the end of the other", [leap(10, 20), leap(15, 30)], [leap(10, 30)]],
    ["one over the beginning of the other", [leap(15, 30), leap(10, 20)], [leap(10, 30)]],
    ["one within the other", [leap(10, 40), leap(20, 30)], [leap(10, 40)]],
    ["one around the other", [leap(20, 30), leap(10, 40)], [leap(10, 40)]],
    ["one over two others", [leap(10, 20), leap(30, 40), leap(50, 60), leap(15, 35)], [leap(10, 40), leap(50, 60)]],
    ["one since ever", [leap(Number.NEGATIVE_INFINITY, 5), leap(10, 20)], [leap(Number.NEGATIVE_INFINITY, 5), leap(10, 20)]]
  ])("are %s, without overlap and the oldest first", (_, told, known) => {
    expect(leaping(...told)).toStrictEqual(known)
  })

  it("are a hundred at most: of more, the two oldest are one with what is between them", () => {
    const all = Array.from({ length: 102 }, (_, at) => leap(10 * at, 10 * at + 5))
    expect(leaping(...all.slice(0, 100))).toStrictEqual(all.slice(0, 100))
    expect(leaping(...all.slice(0, 101))).toStrictEqual([leap(0, 15), ...all.slice(2, 101)])
    expect(leaping(...all)).toStrictEqual([leap(0, 25), ...all.slice(3)])
  })
})

describe("the time that passed at least between two readings", () => {
  it.each<readonly [string, ReadonlyArray<ClockLeap>, readonly [number, number], number]>([
    ["all of it without a leap", [], [100, 160], 60],
    ["all of it after a leap", [leap(50, 100)], [100, 160], 60],
    ["all of it before a leap", [leap(160, 200)], [100, 160], 60],
    ["without the leap within it", [leap(110, 130)], [100, 160], 40],
    ["without each of several leaps", [leap(110, 120), leap(130, 135)], [100, 160], 45],
    ["without the end of a leap that began earlier", [leap(50, 110)], [100, 160], 50],
    ["without the beginning of a leap that ended later", [leap(150, 200)], [100, 160], 50],
    ["nothing within one leap", [leap(50, 200)], [100, 160], 0],
    ["nothing at one moment", [leap(50, 200)], [100, 100], 0],
    ["less than nothing after the clock was set back", [], [160, 100], -60]
  ])("is %s", (_, leaps, [since, now], passed) => {
    expect(passedAtLeast(leaps, since, now)).toBe(passed)
  })
})

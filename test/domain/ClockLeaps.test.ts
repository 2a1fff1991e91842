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

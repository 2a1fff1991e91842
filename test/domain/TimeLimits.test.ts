import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  isTooLateToSend,
  longestInFlightMs,
  pollLeaseMs,
  requestDeadlineMs,
  shortestLeaseMs
} from "../../src/domain/TimeLimits.ts"

describe("times that outlast each other", () => {
  it("what was recorded more than 30 seconds ago is not sent any more", () => {
    expect([isTooLateToSend(1_000, 31_000), isTooLateToSend(1_000, 31_001)]).toStrictEqual([false, true])
  })

  it("a step is given three calls of its provider and ten seconds, to be sent half a minute before them", () => {
    expect([pollLeaseMs(10_000), longestInFlightMs(10_000)]).toStrictEqual([40_000, 70_000])
  })

  it.each([
    [90_000, 80_000],
    [50_001, 40_001],
    [50_000, 40_000],
    [40_000, 32_000],
    [1_000, 800]
  ])("of a lease of %d ms a request has %d: all but ten seconds, or four fifths where that is more", (lease, deadline) => {
    expect(requestDeadlineMs(lease)).toBe(deadline)
  })

  it("the shortest lease leaves a request the time for three calls of its provider, and not a millisecond more", () => {
    expect([shortestLeaseMs(20_000), shortestLeaseMs(10_000)]).toStrictEqual([70_000, 37_500])
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 120_000 }), (timeout) => {
        expect(requestDeadlineMs(shortestLeaseMs(timeout))).toBeCloseTo(3 * timeout, 3)
      })
    )
  })
})

import * as fc from "fast-check"
import { expect, it } from "vitest"
import { lineThrough } from "./Trend.ts"

const line = (from: number, slope: number, noise: (at: number) => number) =>
  Array.from({ length: 120 }, (_, at) => ({ at: at / 60, value: from + (slope * at) / 60 + noise(at) }))

it("the slope of a straight line is found, and is certain", () => {
  fc.assert(
    fc.property(fc.integer({ min: -500, max: 500 }), fc.integer({ min: -50, max: 50 }), (from, slope) => {
      const trend = lineThrough(line(from, slope, () => 0))
      expect(trend?.slope).toBeCloseTo(slope, 6)
      expect(trend?.from).toBeCloseTo(from, 6)
      expect(trend?.give_or_take).toBeCloseTo(0, 6)
    })
  )
})

it("noise around a level has a slope that may be none, and around a leak one that may not", () => {
  const noise = (at: number) => (at % 2 === 0 ? 4 : -4) + (at % 7)
  const [level, leak] = [lineThrough(line(300, 0, noise)), lineThrough(line(300, 20, noise))]
  expect(Math.abs(level?.slope ?? 9)).toBeLessThan(level?.give_or_take ?? 0)
  expect((leak?.slope ?? 0) - (leak?.give_or_take ?? 99)).toBeGreaterThan(15)
})

it("two samples have no trend", () => {
  expect(lineThrough(line(1, 1, () => 0).slice(0, 2))).toBeUndefined()
})

import { Option, Schema } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Instant, instantOf, iso } from "../../src/domain/Instant.ts"

const at = Date.UTC(2026, 0, 31, 12, 0, 5)

describe("a moment", () => {
  it("is written in UTC to the millisecond", () => {
    expect(iso(at)).toBe("2026-01-31T12:00:05.000Z")
    expect(iso(at + 7)).toBe("2026-01-31T12:00:05.007Z")
  })

  it("is read as it is written", () =>
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date(Date.UTC(9999, 11, 31)), noInvalidDate: true }), (date) => {
        expect(instantOf(date.toISOString())).toStrictEqual(Option.some(date.getTime()))
      })
    ))

  it.each([
    ["2026-01-31T12:00:05Z", at],
    ["2026-01-31T12:00:05.1Z", at + 100],
    ["2026-01-31T12:00:05.12Z", at + 120],
    ["2024-02-29T00:00:00.000Z", Date.UTC(2024, 1, 29)]
  ])("is read with fewer digits of a second, too: %s", (text, moment) => {
    expect(instantOf(text)).toStrictEqual(Option.some(moment))
  })

  it.each([
    "2026-01-31",
    "2026-01-31T12:00Z",
    "2026-01-31T12:00:05",
    "2026-01-31T12:00:05.1234Z",
    "2026-01-31T12:00:05.Z",
    "2026-01-31T12:00:05+00:00",
    "2026-01-31 12:00:05Z",
    "+2026-01-31T12:00:05Z",
    "2026-01-31T12:00:05Z ",
    "2026-1-31T12:00:05Z",
    "2026-02-29T12:00:05Z",
    "2026-02-30T12:00:05Z",
    "2026-13-01T12:00:05Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T12:60:00Z",
    "today",
    ""
  ])("is nothing else, and no day that its month does not have: %j", (text) => {
    expect(instantOf(text)).toStrictEqual(Option.none())
  })

  it("is a whole number of milliseconds", () => {
    expect([at, 0, -1, 0.5, "1", null].filter(Schema.is(Instant))).toStrictEqual([at, 0, -1])
  })
})

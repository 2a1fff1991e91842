import { describe, expect, it } from "vitest"
import { type ClockEvidence, type ClockReading, clockDoubt } from "../../src/domain/ClockDoubt.ts"

const NOON = Date.UTC(2026, 10, 28, 12)
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]

/** The clocks so many milliseconds after noon: of the database, and of a machine that has run since then. */
const at = (ms: number, off: { database?: number; machine?: number; uptime?: number; took?: number } = {}): ClockReading => {
  const { database = 0, machine = 0, took = 0, uptime = 0 } = off
  const clocks = (then: number) => ({ timeOfDay: NOON + then + machine, uptimeMs: then + uptime })
  return { database: NOON + ms + database, asked: clocks(ms), answered: clocks(ms + took) }
}

const told = (reading: ClockReading, evidence: Partial<ClockEvidence> = {}) =>
  clockDoubt(reading, { before: null, trustedUntil: null, machine: "node-1", ...evidence })

describe("the database's clock", () => {
  it("is believed where nothing speaks against it", () => {
    expect(told(at(0))).toBe(null)
    expect(told(at(0, { machine: 10_000 }))).toBe(null)
    expect(told(at(0, { machine: -10_000 }))).toBe(null)
    expect(told(at(3 * HOUR), { before: at(0), trustedUntil: NOON })).toBe(null)
    expect(told(at(MINUTE, { database: 10_000, machine: 10_000 }), { before: at(0) })).toBe(null)
    expect(told(at(MINUTE, { database: -10_000, machine: -10_000 }), { before: at(0) })).toBe(null)
    expect(told(at(0), { trustedUntil: NOON + 10_000 })).toBe(null)
    expect(told(at(7 * DAY), { trustedUntil: NOON })).toBe(null)
  })

  it.each<readonly [why: string, doubt: RegExp, reading: ClockReading, evidence: Partial<ClockEvidence>]>([
    [
      "a standby took over whose clock is 91 days ahead",
      /^the database's clock went forward by 91\.0 days more than time passed$/,
      at(MINUTE, { database: 91 * DAY }),
      { before: at(0), trustedUntil: NOON }
    ],
    [
      "the machine of both was set forward",
      /went forward by 3\.0 hours/,
      at(MINUTE, { database: 3 * HOUR, machine: 3 * HOUR }),
      { before: at(0) }
    ],
    [
      "it went forward, on a machine that had run for long",
      /went forward by 11\.0 s more/,
      at(DAY + MINUTE, { database: 11_000, machine: 11_000 }),
      { before: at(DAY) }
    ],
    ["it fell back", /fell back by 11\.0 s$/, at(MINUTE, { database: -11_000 }), { before: at(0) }],
    [
      "the machine's is behind",
      /^the database's clock is 91\.0 days ahead of the clock of node-1$/,
      at(0, { machine: -91 * DAY }),
      {}
    ],
    ["the machine's is two days behind", /is 2\.0 days ahead/, at(0, { machine: -2 * DAY }), {}],
    ["the machine's is two hours behind", /is 2\.0 hours ahead/, at(0, { machine: -2 * HOUR }), {}],
    ["the machine's is ahead", /is 660\.0 s behind the clock of node-1$/, at(0, { machine: 660_000 }), {}],
    [
      "no gateway was there when it fell back",
      /is 180\.0 s behind 2026-11-28T12:03:00\.000Z, which it had reached$/,
      at(0),
      { trustedUntil: NOON + 3 * MINUTE }
    ],
    [
      "nobody looked for eight days",
      /for 8\.0 days, since 2026-11-28T12:00:00\.000Z: none ran/,
      at(8 * DAY),
      { trustedUntil: NOON }
    ]
  ])("is in doubt where %s", (_, doubt, reading, evidence) => {
    expect(told(reading, evidence)).toMatch(doubt)
  })

  it("is not doubted because an answer took long, or because the machine was suspended", () => {
    const slow = { took: 10 * MINUTE }
    expect(told(at(0, slow))).toBe(null)
    expect(told(at(0, { ...slow, database: 9 * MINUTE }))).toBe(null)
    expect(told(at(HOUR), { before: at(0, slow) })).toBe(null)
    expect(told(at(HOUR, slow), { before: at(0) })).toBe(null)
    // What a clock that stands still meanwhile would take for a jump.
    expect(told(at(2 * DAY), { before: at(0), trustedUntil: NOON })).toBe(null)
  })
})

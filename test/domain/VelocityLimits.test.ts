import { describe, expect, it } from "vitest"
import {
  ceilingWindowUse,
  effectiveLimits,
  LimitDirection,
  retryAfterSeconds,
  type VelocityLimit,
  windowsAt,
  windowsOf,
  windowUse
} from "../../src/domain/VelocityLimits.ts"
import { NOON } from "../support/SampleTransactions.ts"

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** 2026-11-21T00:00:00Z, and a moment of that day. */
const MIDNIGHT = NOON - 8 * HOUR
const AT = NOON + 1_234_567
const hourly = { startsAt: NOON, endsAt: NOON + HOUR }
const daily = { startsAt: MIDNIGHT, endsAt: MIDNIGHT + DAY }

describe("the limits of a tenant", () => {
  const shown = (limits: ReadonlyArray<VelocityLimit>) => limits.map(({ count, window }) => `${window} ${count}`)

  it.each([
    ["live", "payout", ["hour 600", "day 5000", "destination 20", "destination_day 100"]],
    ["live", "collection", ["hour 1200", "day 10000", "destination 10", "destination_day 30"]],
    ["live", "code", ["hour 600", "day 5000"]],
    ["test", "payout", ["hour 60", "day 200", "destination 20", "destination_day 100"]],
    ["test", "collection", ["hour 60", "day 200", "destination 10", "destination_day 30"]],
    ["test", "code", ["hour 60", "day 200"]]
  ] as const)(
    "without its own, in mode %s for a %s, are these, in the order in which they refuse",
    (mode, direction, expected) => {
      const limits = effectiveLimits(mode, direction, [])
      expect(shown(limits)).toStrictEqual(expected)
      for (const limit of limits) expect(limit).toMatchObject({ mode, direction })
    }
  )

  it("are in hours and days; those of one number hold for payouts and collections, not for codes", () => {
    expect(LimitDirection.literals.map((direction) => [direction, ...windowsOf(direction)])).toStrictEqual([
      ["collection", "hour", "day", "destination", "destination_day"],
      ["payout", "hour", "day", "destination", "destination_day"],
      ["code", "hour", "day"]
    ])
  })

  it("are its own where it has one of that mode, direction and window, zero too", () => {
    const own: ReadonlyArray<VelocityLimit> = [
      { mode: "test", direction: "payout", window: "hour", count: 1 },
      { mode: "live", direction: "collection", window: "hour", count: 2 },
      { mode: "live", direction: "payout", window: "day", count: 0 }
    ]
    const rest = ["destination 20", "destination_day 100"]
    expect(shown(effectiveLimits("live", "payout", own))).toStrictEqual(["hour 600", "day 0", ...rest])
    expect(shown(effectiveLimits("test", "payout", own))).toStrictEqual(["hour 1", "day 200", ...rest])
    expect(shown(effectiveLimits("live", "collection", own))).toStrictEqual([
      "hour 2",
      "day 10000",
      "destination 10",
      "destination_day 30"
    ])
  })
})

describe("a window of a limit", () => {
  it.each([
    ["hour", { subject: "", window: "hour", ...hourly }],
    ["day", { subject: "", window: "day", ...daily }],
    ["destination", { subject: "5b1e", window: "destination", ...hourly }],
    ["destination_day", { subject: "5b1e", window: "destination", ...daily }]
  ] as const)("is a whole hour or day in UTC, of the tenant or of one number: %s", (window, expected) => {
    expect(windowUse("acme", { mode: "live", direction: "payout", window, count: 20 }, "5b1e", AT)).toStrictEqual({
      appId: "acme",
      mode: "live",
      name: `payout:${window}`,
      amount: 1n,
      bound: 20n,
      ...expected
    })
  })

  it("of a provider account's ceiling is a day that all tenants share", () => {
    const use = { provider: "eversend", mode: "live", currency: "UGX", amount: 11_000n, bound: 5_000_000n } as const
    expect(ceilingWindowUse(use, AT)).toStrictEqual({
      appId: "",
      mode: "live",
      name: "ceiling:eversend:UGX",
      subject: "",
      ...daily,
      amount: 11_000n,
      bound: 5_000_000n,
      window: null
    })
  })

  it.each([
    ["its first moment", 0, 0],
    ["its last moment", HOUR - 1, 0],
    ["the first moment of the next one", HOUR, HOUR],
    ["two hours later", 2 * HOUR + 5, 2 * HOUR],
    ["the moment before it", -1, -HOUR]
  ])("is the one in which the transaction is recorded: %s", (_, later, moved) => {
    const [hour, day] = (["hour", "day"] as const).map((window) =>
      windowUse("acme", { mode: "live", direction: "payout", window, count: 20 }, "", AT)
    )
    if (hour === undefined || day === undefined) throw new Error("no windows")
    expect(windowsAt([hour, day], NOON + later)).toStrictEqual([
      { ...hour, startsAt: NOON + moved, endsAt: NOON + moved + HOUR },
      day
    ])
  })

  it("tells in whole seconds when it ends, and at least one", () => {
    const window = windowUse("acme", { mode: "live", direction: "payout", window: "hour", count: 20 }, "", AT)
    const left = (ms: number) => retryAfterSeconds(window, NOON + HOUR - ms)
    expect([left(HOUR), left(2_000), left(1_001), left(1_000), left(1), left(0), left(-5_000)]).toStrictEqual([
      3_600, 2, 2, 1, 1, 1, 1
    ])
  })
})

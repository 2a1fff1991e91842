import { renderToString } from "preact-render-to-string"
import { describe, expect, it } from "vitest"
import { rateChart, sparkline } from "../../src/console/RateChart.ts"
import { beginOf, percent, rateLines } from "../../src/console/SuccessRates.ts"
import type { PeriodCount } from "../../src/services/ports/PeriodCounts.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NOW = Date.UTC(2026, 10, 21, 12, 17)

const count = (override: Partial<PeriodCount>): PeriodCount => ({
  what: "payout",
  mode: "live",
  provider: "eversend",
  corridor: "UG/UGX/momo",
  outcome: "successful",
  failure: "none",
  at: Date.UTC(2026, 10, 21, 12, 15),
  count: 1,
  ...override
})

describe("success rates", () => {
  it("begin so many whole steps before the one that is under way", () => {
    expect(beginOf("hour", NOW)).toBe(Date.UTC(2026, 10, 21, 11, 20))
    expect(beginOf("day", NOW)).toBe(Date.UTC(2026, 10, 20, 13))
    expect(beginOf("week", NOW)).toBe(Date.UTC(2026, 10, 14, 18))
  })

  it("have a line for each kind, corridor and provider, those with the most transactions first, and name why the others ended", () => {
    const lines = rateLines(
      [
        count({ count: 2, corridor: "KE/KES/momo", what: "collection", outcome: "expired" }),
        count({ count: 90 }),
        count({ count: 4, outcome: "failed", failure: "provider_rejected" }),
        count({ count: 6, outcome: "failed", failure: "destination_unavailable", at: Date.UTC(2026, 10, 21, 11, 20) })
      ],
      "hour",
      NOW
    )
    expect(lines.map(({ corridor, ended, kind, successful }) => [kind, corridor, ended, successful])).toEqual([
      ["payout", "UG/UGX/momo", 100, 90],
      ["collection", "KE/KES/momo", 2, 0]
    ])
    expect(lines.map(({ others }) => others)).toEqual([
      [
        ["destination_unavailable", 6],
        ["provider_rejected", 4]
      ],
      [["expired", 2]]
    ])
    const [{ steps }] = lines as [(typeof lines)[0]]
    expect([steps.length, steps[0], steps[1]?.ended, steps.at(-1)]).toEqual([
      12,
      { at: Date.UTC(2026, 10, 21, 11, 20), ended: 6, successful: 0 },
      0,
      { at: Date.UTC(2026, 10, 21, 12, 15), ended: 94, successful: 90 }
    ])
  })

  it("are never rounded up to all", () => {
    expect([percent({ ended: 3000, successful: 2999 }), percent({ ended: 3, successful: 3 })]).toEqual(["99.9 %", "100.0 %"])
    expect([percent({ ended: 3, successful: 2 }), percent({ ended: 0, successful: 0 })]).toEqual(["66.6 %", "none ended"])
  })
})

describe("the chart of a success rate", () => {
  const [line] = rateLines(
    [0, 1, 3].map((step) => count({ at: Date.UTC(2026, 10, 21, 11, 20) + step * 5 * MINUTE, count: 10 })),
    "hour",
    NOW
  )
  const drawn = line === undefined ? "" : renderToString(rateChart(line))

  it("says in words what it shows, and is broken where nothing ended: a step alone is a dot", () => {
    expect(drawn).toContain(">Success rate of payouts in UG/UGX/momo at eversend</title>")
    expect(drawn).toContain(">100.0 % of 30 were successful. The table below has each step.</desc>")
    expect([drawn.match(/<polyline/g)?.length, drawn.match(/<circle/g)?.length]).toEqual([1, 1])
    expect(drawn).toMatch(/<polyline class="rate" points="58\.7,12 88,12"/)
  })

  it("needs neither style nor script of its own, which the console's policy forbids, and in a list nothing is read of it", () => {
    for (const one of [drawn, line === undefined ? "" : renderToString(sparkline(line))]) {
      expect(one).toContain("<svg")
      expect(one).not.toMatch(/style=|<script|<style| on[a-z]+=|href=/)
    }
    expect(line === undefined ? "" : renderToString(sparkline(line))).toContain('aria-hidden="true"')
  })

  it("is as good for a day of hours", () => {
    const [day] = rateLines([count({ at: Date.UTC(2026, 10, 21, 12), count: 1 })], "day", NOW)
    expect(day?.steps.map(({ at }) => at).filter((at) => at % HOUR !== 0)).toEqual([])
  })
})

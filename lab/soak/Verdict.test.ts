import { expect, it } from "vitest"
import type { FittedLine } from "./Trend.ts"
import { PREDICTED_DISK, verdictsOf } from "./Verdict.ts"

const line = (override: Partial<FittedLine>): FittedLine => ({ from: 300, to: 301, slope: 0, give_or_take: 1, ...override })
const said = (series: string, override: Partial<FittedLine>, minutes = 120) =>
  verdictsOf({ minutes, trends: { [series]: line(override) } })[0]?.verdict

it("a slope is judged by its whole interval", () => {
  const memory = "gateway one: memory, MiB"
  expect(said(memory, { slope: 9 })).toBe("ok")
  expect(said(memory, { slope: -40, give_or_take: 20 })).toBe("ok")
  expect(said(memory, { slope: 12 })).toBe("grows")
  expect(said(memory, { slope: 9.5 })).toBe("uncertain")
  expect(said(memory, { slope: 10.5 })).toBe("uncertain")
})

it("what grows an hour is not judged by a part of minutes, and disk is", () => {
  expect(said("gateway one: memory, MiB", { slope: 48 }, 17)).toBe("uncertain")
  expect(said("PostgreSQL: disk, MiB per 1,000 operations", { slope: PREDICTED_DISK, give_or_take: 0.1 }, 17)).toBe("ok")
  expect(said("PostgreSQL: disk, MiB per 1,000 operations", { slope: PREDICTED_DISK * 1.2, give_or_take: 0.1 }, 17)).toBe("grows")
})

it("shared buffers may fill, and nothing beyond them", () => {
  expect(said("PostgreSQL: memory, MiB", { slope: 950, to: 560 })).toBe("ok")
  expect(said("PostgreSQL: memory, MiB", { slope: 950, to: 1_100 })).toBe("grows")
  expect(said("PostgreSQL: memory beside shared buffers, MiB", { slope: 50, to: 100 })).toBe("grows")
})

it("what keeps the account grows by design, and is not judged", () => {
  expect(said("this harness: memory, MiB", { slope: 500 })).toBe("not judged")
  expect(said("simulator: memory, MiB", { slope: 500 })).toBe("not judged")
})

it("every series of a part has a rule with a reason", () => {
  const series = [
    ...["gateway one", "gateway two"].flatMap((name) => [
      `${name}: memory, MiB`,
      `${name}: open files and sockets`,
      `${name}: JavaScript heap in use, MiB`,
      `${name}: pages of its heap, MiB`,
      `${name}: pages of its heap in memory, MiB`,
      `${name}: memory beside them, MiB`
    ]),
    "simulator: memory, MiB",
    "simulator: open files and sockets",
    "this harness: memory, MiB",
    ...["memory, MiB", "memory beside shared buffers, MiB", "connections", "disk, MiB"].map((name) => `PostgreSQL: ${name}`),
    "p50 of an operation, ms",
    "p99 of an operation, ms",
    "open transactions",
    "PostgreSQL: disk, MiB per 1,000 operations"
  ]
  const trends = Object.fromEntries(series.map((name) => [name, line({})]))
  expect(verdictsOf({ minutes: 120, trends }).filter(({ reason }) => reason === "it has no rule" || reason.length < 30)).toEqual(
    []
  )
  expect(verdictsOf({ minutes: 120, trends: { other: line({}) } })).toMatchObject([{ verdict: "not judged" }])
})

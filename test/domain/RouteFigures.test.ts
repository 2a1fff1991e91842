import { describe, expect, it } from "vitest"
import { figuresByProvider, figuresOf } from "../../src/domain/RouteFigures.ts"

const ended = (result: "successful" | "failed" | "customer", withinMs: number, count: number) => ({ result, withinMs, count })
const sent = (result: "answered" | "silent" | "not_sent", count: number) => ({ result, withinMs: 0, count })

describe("the figures of a route", () => {
  it("count sendings and ends apart, and name the times within which half and 19 of 20 ended", () => {
    const counts = [
      sent("answered", 95),
      sent("silent", 3),
      sent("not_sent", 2),
      ended("failed", 20_000, 4),
      ended("successful", 2_000, 60),
      ended("successful", 1_000, 30),
      ended("customer", 60_000, 6)
    ]
    expect(figuresOf(counts)).toEqual({
      tried: 100,
      successful: 90,
      failed: 4,
      customer: 6,
      unknown: 3,
      neverSent: 2,
      p50Ms: 2_000,
      p95Ms: 60_000,
      success: { successful: 90, failed: 6 }
    })
    expect(figuresOf([sent("silent", 1)])).toMatchObject({ tried: 1, p50Ms: null, p95Ms: null })
  })

  it("are of one provider, network and mode each", () => {
    const of = (provider: string, network: string, mode = "live") => ({ mode, network, provider, ...ended("successful", 500, 2) })
    const all = [of("mtn", "MTN"), of("airtel", "AIRTEL"), of("mtn", "MTN"), of("mtn", "MTN", "test")]
    expect(
      figuresByProvider(all).map(({ mode, network, provider, successful }) => [mode, network, provider, successful])
    ).toEqual([
      ["live", "AIRTEL", "airtel", 2],
      ["live", "MTN", "mtn", 4],
      ["test", "MTN", "mtn", 2]
    ])
  })
})

import { describe, expect, it } from "vitest"
import { makeCallCounts, RECENT_MS } from "../../src/runtime/RecentCalls.ts"

const line = { provider: "eversend", mode: "live", operation: "quotation" } as const

describe("what became of recent calls", () => {
  it("is counted for five minutes, with the last answer and why the last one failed", () => {
    const calls = makeCallCounts()
    calls.record(line, { at: 1_000_000, failure: null })
    for (const at of [1_003_000, 1_006_000, 1_009_000]) calls.record(line, { at, failure: "ECONNREFUSED" })
    const [found] = calls.read(1_010_000)
    expect(found).toEqual({
      ...line,
      calls: 4,
      failures: 3,
      lastAnswerAt: 1_000_000,
      lastFailure: { at: 1_009_000, why: "ECONNREFUSED" },
      isFailing: true
    })
    expect(calls.read(1_010_000 + RECENT_MS)).toEqual([])
    // What is over is not kept either, and the last failure is still known.
    calls.record(line, { at: 1_010_000 + RECENT_MS, failure: null })
    expect(calls.read(1_010_000 + RECENT_MS)).toMatchObject([{ calls: 1, failures: 0, lastFailure: { at: 1_009_000 } }])
  })

  it("says that calls fail from the third failure in a row on, and until more than half of the last ten are answered", () => {
    const calls = makeCallCounts()
    const after = (...failures: ReadonlyArray<boolean>) => {
      for (const failed of failures) calls.record(line, { at: 1_000_000, failure: failed ? "ECONNREFUSED" : null })
      return calls.read(1_000_000)[0]?.isFailing
    }
    expect(after(...Array<boolean>(100).fill(false))).toBe(false)
    expect([after(true), after(true), after(true)]).toEqual([false, false, true])
    expect([after(false), after(true, true, true, false), after(true, false, true)]).toEqual([false, true, true])
    expect([after(false), after(false)]).toEqual([true, false])
    expect(after(true, true)).toBe(true)
  })

  it("is kept apart for each account and each kind of call", () => {
    const calls = makeCallCounts()
    for (const other of [line, { ...line, mode: "test" }, { ...line, operation: "token" }, { ...line, provider: "mtn" }])
      calls.record(other, { at: 1_000_000, failure: null })
    expect(calls.read(1_000_000).map(({ calls: made }) => made)).toEqual([1, 1, 1, 1])
  })
})

import { describe, expect, it } from "@effect/vitest"
import { nextAttempt } from "../../src/domain/DeliverySchedule.ts"

const schedule = [0, 5_000, 30_000]
const failed = { at: 1_000_000, attempts: 1, retryAfter: null, dice: 0.5 }

describe("nextAttempt", () => {
  it("waits the delay that the schedule names for the next attempt", () => {
    expect(nextAttempt(schedule, failed)).toBe(1_005_000)
    expect(nextAttempt(schedule, { ...failed, attempts: 2 })).toBe(1_030_000)
  })

  it("parks past the schedule", () => {
    expect(nextAttempt(schedule, { ...failed, attempts: 3 })).toBe(null)
  })

  it("moves an attempt by at most a fifth", () => {
    expect(nextAttempt(schedule, { ...failed, dice: 0 })).toBe(1_004_000)
    expect(nextAttempt(schedule, { ...failed, dice: 1 })).toBe(1_006_000)
  })

  it("honours Retry-After between one and two times the delay, and never comes earlier", () => {
    const after = (retryAfter: string, dice = 0.5) => nextAttempt(schedule, { ...failed, retryAfter, dice })
    expect(after("7", 0)).toBe(1_007_000)
    expect(after("3600")).toBe(1_010_000)
    expect(after("1", 0)).toBe(1_005_000)
    expect(after("1", 1)).toBe(1_006_000)
    expect(after("Thu, 01 Jan 1970 00:16:47 GMT")).toBe(1_007_000)
  })

  it("takes a Retry-After that cannot be read for none", () => {
    expect(nextAttempt(schedule, { ...failed, retryAfter: "soon", dice: 0 })).toBe(1_004_000)
    expect(nextAttempt(schedule, { ...failed, retryAfter: "-1", dice: 0 })).toBe(1_004_000)
  })
})

import { describe, expect, it } from "@effect/vitest"
import { nextAttempt } from "../../src/domain/WebhookRetrySchedule.ts"

const schedule = [0, 5_000, 30_000]
const failed = { at: 1_000_000, attempts: 1, retryAfter: null, random: 0.5 }

describe("the next attempt of a webhook delivery", () => {
  it("waits as long as the schedule says", () => {
    expect(nextAttempt(schedule, failed)).toBe(1_005_000)
    expect(nextAttempt(schedule, { ...failed, attempts: 2 })).toBe(1_030_000)
  })

  it("is none after the end of the schedule: the delivery is parked", () => {
    expect(nextAttempt(schedule, { ...failed, attempts: 3 })).toBe(null)
  })

  it("is moved by at most a fifth at random", () => {
    expect(nextAttempt(schedule, { ...failed, random: 0 })).toBe(1_004_000)
    expect(nextAttempt(schedule, { ...failed, random: 1 })).toBe(1_006_000)
  })

  it("follows Retry-After between one and two times the delay, and never comes earlier", () => {
    const after = (retryAfter: string, random = 0.5) => nextAttempt(schedule, { ...failed, retryAfter, random })
    expect(after("7", 0)).toBe(1_007_000)
    expect(after("3600")).toBe(1_010_000)
    expect(after("1", 0)).toBe(1_005_000)
    expect(after("1", 1)).toBe(1_006_000)
    expect(after("Thu, 01 Jan 1970 00:16:47 GMT")).toBe(1_007_000)
  })

  it("reads seconds of up to nine digits and a date of HTTP, and nothing around them", () => {
    const long = [0, 10_000_000]
    const ignored = 8_000_000 + failed.at
    const after = (retryAfter: string) => nextAttempt(long, { ...failed, retryAfter, random: 0 })
    expect([after("10001"), after("000010001"), after("999999999")]).toStrictEqual([11_001_000, 11_001_000, 21_000_000])
    for (const header of ["0000010001", "10001s", "x10001", "10001.5", " 10001", "", "1970-01-01T03:03:21Z"])
      expect([header, after(header)]).toStrictEqual([header, ignored])
    const date = "Thu, 01 Jan 1970 03:03:21 GMT"
    expect(after(date)).toBe(11_001_000)
    for (const header of [
      `${date} `,
      ` ${date}`,
      date.replace("Thu", "Thur"),
      date.replace("01", "1"),
      date.replace("GMT", "UTC")
    ])
      expect([header, after(header)]).toStrictEqual([header, ignored])
    for (const header of ["Thu, 41 Jan 1970 03:03:21 GMT", "Thu, 01 Foo 1970 03:03:21 GMT"])
      expect([header, after(header)]).toStrictEqual([header, ignored])
  })

  it("ignores a Retry-After that cannot be read", () => {
    expect(nextAttempt(schedule, { ...failed, retryAfter: "soon", random: 0 })).toBe(1_004_000)
    expect(nextAttempt(schedule, { ...failed, retryAfter: "-1", random: 0 })).toBe(1_004_000)
  })
})

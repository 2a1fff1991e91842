import { describe, expect, it } from "vitest"
import { type AnswerTimes, lateAfterMs, noAnswers, withAnswer } from "../../src/domain/UsualTime.ts"

const bounds = { atLeastMs: 1_000, atMostMs: 10_000 }
const answered = (times: AnswerTimes, ...took: ReadonlyArray<number>): AnswerTimes => took.reduce(withAnswer, times)
/** So many answers, one in a hundred of which takes `slowest`. */
const traffic = (times: AnswerTimes, count: number, usual: number, slowest: number): AnswerTimes =>
  answered(times, ...Array.from({ length: count }, (_, at) => (at % 50 === 49 ? slowest : usual)))

describe("the usual time of a call", () => {
  it("is the longest that is allowed until enough answers were seen", () => {
    expect(lateAfterMs(noAnswers, bounds)).toBe(10_000)
    expect(lateAfterMs(answered(noAnswers, ...Array<number>(19).fill(100)), bounds)).toBe(10_000)
    expect(lateAfterMs(answered(noAnswers, ...Array<number>(20).fill(100)), bounds)).toBe(1_000)
  })

  it("is never less than the setting, however fast the answers are", () => {
    expect(lateAfterMs(traffic(noAnswers, 2_000, 50, 200), bounds)).toBe(1_000)
    expect(lateAfterMs(traffic(noAnswers, 2_000, 50, 200), { ...bounds, atLeastMs: 20_000 })).toBe(20_000)
  })

  it("leaves a provider that is slow its time: more than the slowest hundredth of its answers took", () => {
    const late = lateAfterMs(traffic(noAnswers, 2_000, 2_000, 5_000), bounds)
    expect(late).toBeGreaterThan(6_000)
    expect(late).toBeLessThanOrEqual(7_500)
  })

  it("is never more than the longest that is allowed", () => {
    expect(lateAfterMs(traffic(noAnswers, 2_000, 9_000, 14_000), bounds)).toBe(10_000)
  })

  it("follows a provider that becomes slower within ten answers, and one that becomes faster within some hundreds", () => {
    const fast = traffic(noAnswers, 2_000, 200, 300)
    const slower = answered(fast, ...Array<number>(10).fill(5_000))
    expect(lateAfterMs(slower, bounds)).toBeGreaterThan(5_000)
    expect(lateAfterMs(traffic(slower, 1_000, 200, 300), bounds)).toBe(1_000)
  })

  it("takes a call that came back at once, and one that took minutes", () => {
    const times = answered(noAnswers, ...Array<number>(30).fill(0), 600_000)
    expect(lateAfterMs(times, bounds)).toBe(10_000)
  })
})

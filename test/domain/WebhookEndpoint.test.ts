import { expect, it } from "vitest"
import { FAILING_MS, ROTATION_MS, shownFailingMs } from "../../src/domain/WebhookEndpoint.ts"

const SECOND_MS = 1000
const usual = [0, 5 * SECOND_MS, 30 * SECOND_MS, 120 * SECOND_MS]

it("an endpoint that fails is shown after a minute and disabled after 120 hours, and an old secret signs for a day", () => {
  const minutes = [shownFailingMs(usual), FAILING_MS, ROTATION_MS].map((ms) => ms / 60_000)
  expect(minutes).toStrictEqual([1, 7_200, 1_440])
})

it("an endpoint is shown after its second attempt had time to end, also where the schedule makes that one late", () => {
  // Two attempts of 15 s, and twice the wait, which is what an endpoint may ask for.
  expect(shownFailingMs([0, 120 * SECOND_MS, 600 * SECOND_MS])).toBe(270 * SECOND_MS)
  expect(shownFailingMs([0, 16 * SECOND_MS])).toBe(62 * SECOND_MS)
  expect(shownFailingMs([0])).toBe(60 * SECOND_MS)
})

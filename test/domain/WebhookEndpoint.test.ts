import { expect, it } from "vitest"
import { FAILING_MS, ROTATION_MS, SHOWN_FAILING_MS } from "../../src/domain/WebhookEndpoint.ts"

it("an endpoint that fails is shown after 15 minutes and disabled after 120 hours, and an old secret signs for a day", () => {
  const minutes = [SHOWN_FAILING_MS, FAILING_MS, ROTATION_MS].map((ms) => ms / 60_000)
  expect(minutes).toStrictEqual([15, 7_200, 1_440])
})

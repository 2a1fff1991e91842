import { describe, it } from "vitest"
import { givenGround } from "./GivenSeeds.ts"

const WITHIN_MS = 120_000

describe("two gateways in short stories of lost answers, crashes and repeated requests", () => {
  const { holds } = givenGround()

  for (const first of [1, 26, 51, 76])
    it(`loses, doubles and invents no cent from seed ${first} on`, () => holds(first, 20, 8), WITHIN_MS)
})

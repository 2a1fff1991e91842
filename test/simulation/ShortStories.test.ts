import { describe, it } from "vitest"
import { givenGround } from "./GivenSeeds.ts"

const WITHIN_MS = 120_000

describe("two gateways in short stories of lost answers, crashes and repeated requests", () => {
  const { holds } = givenGround()

  for (const first of [1, 23, 45, 67, 89, 111, 133, 155])
    it(`lose, double and invent no money from seed ${first} on`, () => holds(first, 22, 7), WITHIN_MS)
})

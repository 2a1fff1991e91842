import { describe, it } from "vitest"
import { givenGround } from "./GivenSeeds.ts"

const WITHIN_MS = 240_000

describe("two gateways in short stories of lost answers, crashes and repeated requests", () => {
  const { holds } = givenGround()

  for (const first of [1, 13, 25])
    it(`lose, double and invent no money from seed ${first} on`, () => holds(first, 12, 7), WITHIN_MS)
})

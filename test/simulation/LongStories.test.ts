import { describe, expect, it } from "vitest"
import { givenGround } from "./GivenSeeds.ts"

const WITHIN_MS = 240_000

describe("two gateways in long stories of lost answers, crashes and repeated requests", () => {
  const { holds, play } = givenGround()

  for (const first of [100_001, 100_011, 100_021, 100_031])
    it(`lose, double and invent no money from seed ${first} on`, () => holds(first, 10, 28), WITHIN_MS)

  // A process stood still for half an hour, before or within a provider's call, and then the next provider charged a number that was
  // charged again meanwhile.
  it.each([
    [20_098, 24],
    [21_390, 40]
  ])(
    "lose, double and invent no money in stories that once found a defect: seed %i",
    (seed, steps) => holds(seed, 1, steps),
    WITHIN_MS
  )

  // A charge left half an hour after it was placed, and the number was charged again at once; a payout's end was decided long before its commit.
  it.each([20_223, 20_311])(
    "are not blamed for a process that stood still after the last check, as in seed %i",
    (seed) => holds(seed, 1, 40),
    WITHIN_MS
  )

  it("play the same story again for the same seed", async () => {
    const { story } = await play(7, 20)
    expect((await play(7, 20)).story).toBe(story)
  })
})

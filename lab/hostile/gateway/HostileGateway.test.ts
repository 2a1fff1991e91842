import { Effect, Exit, Scope } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { knownSimulators } from "../../../src/simulator/Registry.ts"
import { givenDatabase } from "../../../test/support/TestDatabase.ts"
import { openGround } from "./Ground.ts"
import { playTogether } from "./Play.ts"

const CASES = 20
const WITHIN_MS = 240_000

describe("whatever a provider says, does not say, and says too late, each payment ends as it is, once:", () => {
  const scope = Effect.runSync(Scope.make())
  const ground = Effect.runPromise(Effect.flatMap(givenDatabase, openGround).pipe(Effect.provideService(Scope.Scope, scope)))
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  // Each provider meets cases of its own, so that a hundred are played and not the same twenty five times.
  it.each(knownSimulators.map((known, place) => [known.name, known, 1 + place * CASES] as const))(
    `${CASES} payments through %s`,
    async (_, known, first) => {
      const counts = await Effect.runPromise(
        Effect.scoped(playTogether(await ground, known, { first, cases: CASES, hasStories: true }))
      )
      expect(counts.faults).toStrictEqual([])
      expect(counts.claimed).toBeGreaterThan(0)
      expect(counts.moved).toBeGreaterThan(CASES / 5)
      expect(counts.vacuous).toBeLessThan(CASES / 3)
    },
    WITHIN_MS
  )
})

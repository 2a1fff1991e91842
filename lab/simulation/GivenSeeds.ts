import { Effect, Exit, Scope } from "effect"
import { afterAll, expect } from "vitest"
import { givenDatabase } from "../../test/support/TestDatabase.ts"
import { type Outcome, simulate } from "./Simulation.ts"
import { makeTestbed, type Testbed } from "./Testbed.ts"

/** One testbed for the stories of a test file, which are played one after another. */
export const givenGround = () => {
  const scope = Effect.runSync(Scope.make())
  let testbed: Promise<Testbed> | undefined
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const open = () =>
    (testbed ??= Effect.runPromise(Effect.flatMap(givenDatabase, makeTestbed).pipe(Effect.provideService(Scope.Scope, scope))))
  const play = async (seed: number, steps: number): Promise<Outcome> => Effect.runPromise(simulate(seed, steps, await open()))

  /** Fails with all that is wrong in the first seed that fails, and how to play it again. */
  const holds = async (first: number, seeds: number, steps: number): Promise<void> => {
    for (let seed = first; seed < first + seeds; seed++) {
      const { faults } = await play(seed, steps)
      expect(faults, `npm run simulate -- --seed ${seed} --steps ${steps} --seeds 1`).toEqual([])
    }
  }
  return { play, holds }
}

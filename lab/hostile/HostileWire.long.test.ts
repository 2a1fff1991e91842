import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { knownSimulators } from "../../src/simulator/Registry.ts"
import { HIDDEN } from "./Case.ts"
import { mutations } from "./Mutations.ts"
import { playedCases } from "./Play.ts"

const CASES = 125
const WITHIN_MS = 240_000

describe.concurrent("what a provider answers otherwise than its documents say costs nobody a cent:", () => {
  const played = Promise.withResolvers<void>()
  const bitten = new Set<string>()
  let left = knownSimulators.length
  for (const known of knownSimulators)
    it(
      `${CASES} cases at ${known.name}`,
      async () => {
        try {
          const counts = await Effect.runPromise(Effect.scoped(playedCases(known, 1, CASES)))
          for (const name of counts.bitten) bitten.add(name)
          expect(counts.faults).toStrictEqual([])
          expect(counts.moved).toBeGreaterThan(CASES / 4)
          expect(counts.vacuous).toBeLessThan(CASES / 2)
        } finally {
          left -= 1
          if (left === 0) played.resolve()
        }
      },
      WITHIN_MS
    )

  it(
    "and every mutation changed an answer somewhere",
    async () => {
      await played.promise
      expect([...mutations.map(({ name }) => name), HIDDEN].filter((name) => !bitten.has(name))).toStrictEqual([])
    },
    WITHIN_MS
  )
})

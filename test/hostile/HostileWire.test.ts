import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { knownSimulators } from "../../src/simulator/Registry.ts"
import { playedCases } from "./Play.ts"

const CASES = 400
const WITHIN_MS = 240_000

describe.concurrent("what a provider answers otherwise than its documents say costs nobody a cent:", () => {
  for (const known of knownSimulators)
    it(
      `${CASES} cases at ${known.name}`,
      async () => {
        const { faults, moved } = await Effect.runPromise(Effect.scoped(playedCases(known, 1, CASES)))
        expect(faults).toStrictEqual([])
        expect(moved).toBeGreaterThan(CASES / 4)
      },
      WITHIN_MS
    )
})

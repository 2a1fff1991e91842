import { describe, expect, it } from "vitest"
import { knownProviders } from "../../src/providers/Registry.ts"
import { run } from "./GatewayProcess.ts"

const STORY_MS = 240_000

describe("gateway demo", () => {
  it(
    "plays the main job end to end and exits 0",
    async () => {
      const demo = run("unused", ["demo", "--json"])
      const { ok, steps } = JSON.parse(await demo.firstLine)
      expect(ok).toBe(true)
      expect(steps).toHaveLength(14)
      expect(await demo.ended).toEqual({ code: 0, errors: "" })
    },
    STORY_MS
  )

  it(
    "plays a charge and a payout at every provider, once each",
    async () => {
      const demo = run("unused", ["demo", "--all", "--json"])
      const { ok, steps } = JSON.parse(await demo.firstLine)
      expect(ok).toBe(true)
      const shown = steps.flatMap(({ step }: { step: string }) => / by (\w+), once each$/.exec(step)?.[1] ?? [])
      expect(shown.sort()).toEqual(knownProviders.map(({ name }) => name).sort())
      expect(await demo.ended).toEqual({ code: 0, errors: "" })
    },
    2 * STORY_MS
  )
})

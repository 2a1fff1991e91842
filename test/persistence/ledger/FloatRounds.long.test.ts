import { it } from "@effect/vitest"
import { Effect } from "effect"
import { floatRounds } from "../../support/FloatRounds.ts"

it.live("exactly k of 64 concurrent payouts are let through on float for k, 200 rounds, from two nodes", () =>
  Effect.scoped(floatRounds(200))
)

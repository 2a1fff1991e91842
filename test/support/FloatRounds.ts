import { Effect } from "effect"
import { expect } from "vitest"
import { AppId } from "../../src/domain/Ids.ts"
import { given, givenTenantWith, openOne } from "./LedgerSteps.ts"
import { givenLedger } from "./TestLedger.ts"

const AT_ONCE = 64
const COST = 11_000n

/** In each round 64 payouts of a new tenant race from two nodes for a float that covers k of them, with k from 0 to 64 in turn. */
export const floatRounds = Effect.fnUntraced(function* (count: number) {
  const { node, url } = yield* given(1n)
  const nodes = [node, yield* givenLedger(url)] as const
  for (let round = 0; round < count; round++) {
    const k = round % (AT_ONCE + 1)
    const tenant = AppId.make(`round-${round}`)
    yield* Effect.provideContext(givenTenantWith(tenant, k === 0 ? 0n : BigInt(k) * COST + COST - 1n), node)
    const results = yield* Effect.forEach(
      Array.from({ length: AT_ONCE }, (_, index) => index),
      (index) => Effect.provideContext(openOne(tenant, `key-${index}`, 10_000n), nodes[index % 2 === 0 ? 0 : 1]),
      { concurrency: "unbounded" }
    )
    expect(results.filter(({ _tag }) => _tag === "Opened")).toHaveLength(k)
    expect(results.filter(({ _tag }) => _tag === "ShortFloat")).toHaveLength(AT_ONCE - k)
  }
})

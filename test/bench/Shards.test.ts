import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { byHash, isolated, loads, rebalanced, skewOf } from "../../bench/shards/Placement.ts"
import { grown, zipfShares } from "../../bench/shards/Tenants.ts"

const clusters = fc.record({
  tenants: fc.integer({ min: 1, max: 300 }),
  shards: fc.integer({ min: 1, max: 40 }),
  workers: fc.integer({ min: 1, max: 10 }),
  exponent: fc.double({ min: 0, max: 2, noNaN: true }),
  seed: fc.nat()
})

describe("shards", () => {
  it("rebalancing and isolating lose no payout, and no worker carries less than its largest tenant", () => {
    fc.assert(
      fc.property(clusters, ({ exponent, seed, shards, tenants, workers }) => {
        const shares = zipfShares(tenants, exponent)
        const hashed = byHash(tenants, shards, workers, seed)
        const alone = isolated(hashed, shares, 0.1 / workers)
        for (const placement of [
          hashed,
          rebalanced(hashed, shares, 0.02).placement,
          alone,
          rebalanced(alone, shares, 0.02).placement
        ]) {
          assert.closeTo(
            loads(placement, shares).reduce((sum, share) => sum + share, 0),
            1,
            1e-9
          )
          assert.isAtLeast(skewOf(placement, shares) + 1e-9, Math.max(1, workers * Math.max(...shares)))
        }
      }),
      { numRuns: 60 }
    )
  })

  it("rebalancing never makes the fullest worker fuller, and comes to an end", () => {
    fc.assert(
      fc.property(clusters, ({ exponent, seed, shards, tenants, workers }) => {
        const shares = zipfShares(tenants, exponent)
        const hashed = byHash(tenants, shards, workers, seed)
        const once = rebalanced(hashed, shares, 0.02)
        assert.isAtMost(skewOf(once.placement, shares), skewOf(hashed, shares) + 1e-9)
        assert.strictEqual(rebalanced(once.placement, shares, 0.02).moves, 0)
      }),
      { numRuns: 60 }
    )
  })

  it("isolating moves nobody, and leaves every large tenant alone in its shard", () => {
    const shares = grown(zipfShares(500, 1), 70, 50)
    const hashed = byHash(500, 16, 4, 1)
    const alone = isolated(hashed, shares, 0.02)
    assert.deepStrictEqual(
      alone.shardOf.map((shard) => alone.workerOf[shard]),
      hashed.shardOf.map((shard) => hashed.workerOf[shard])
    )
    for (const [tenant, share] of shares.entries()) {
      const neighbours = alone.shardOf.filter((shard) => shard === alone.shardOf[tenant]).length
      if (share > 0.02) assert.strictEqual(neighbours, 1)
    }
    assert.isAbove(shares[70] ?? 0, 0.02)
  })
})

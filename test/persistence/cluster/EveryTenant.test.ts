import { describe, expect, it } from "@effect/vitest"
import { dueIn, sharesOf } from "../../../src/persistence/cluster/EveryTenant.ts"
import { allFloats, allOpen, allQueues } from "../../../src/persistence/status/StatusTotals.ts"

const shard = (number: number, server: string, ...appIds: ReadonlyArray<string>) => ({ number, server, appIds })
const three = [shard(1, "one", "a", "b"), shard(2, "two", "c"), shard(3, "one", "d")]
const sharesIn = (limit: number, turn: number) =>
  sharesOf(limit, turn, three).map(({ appIds, share }) => `${appIds.join("+")} ${share}`)

describe("work that is anybody's, on several servers", () => {
  it("asks only for tenants that have something due, in their own shards", () => {
    expect(dueIn(three, new Set(["b", "d", "unknown"]))).toEqual([shard(1, "one", "b"), shard(3, "one", "d")])
  })

  it("is shared by the shards as evenly as whole numbers are, and never more than the limit", () => {
    expect(sharesIn(16, 0)).toEqual(["a+b 6", "c 5", "d 5"])
    expect(sharesIn(2, 0)).toEqual(["a+b 1", "c 1"])
    expect(sharesOf(16, 7, [])).toEqual([])
  })

  it("begins with another shard each time, so that none is last for ever", () => {
    expect([0, 1, 2, 3].map((turn) => sharesIn(1, turn))).toEqual([["a+b 1"], ["c 1"], ["d 1"], ["a+b 1"]])
  })
})

describe("what several servers count", () => {
  const open = (count: number, oldestAt: number, oldestUnknownAt: number | null) =>
    ({
      kind: "payout",
      mode: "live",
      provider: "eversend",
      age: "1m",
      count,
      unknown: 1,
      acknowledged: 0,
      oldestAt,
      oldestUnknownAt
    }) as const

  it("is added, and the oldest of all is the oldest", () => {
    expect(allOpen([open(2, 500, null), open(3, 400, 450)])).toEqual([{ ...open(5, 400, 450), unknown: 2 }])
    expect(allQueues([])).toEqual({ due: 0, parked: 0, oldestAt: null })
    expect(
      allQueues([
        { due: 1, parked: 0, oldestAt: null },
        { due: 2, parked: 1, oldestAt: 7 }
      ])
    ).toEqual({ due: 3, parked: 1, oldestAt: 7 })
  })

  it("keeps currencies and modes apart", () => {
    const float = (mode: "live" | "test", available: bigint) =>
      ({ mode, currency: "UGX", available, reserved: 1n, receivable: 0n }) as const
    expect(allFloats([float("live", 5n), float("test", 9n), float("live", 6n)])).toEqual([
      { ...float("live", 11n), reserved: 2n },
      float("test", 9n)
    ])
  })
})

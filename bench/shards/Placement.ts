import { hashOf, type Shares } from "./Tenants.ts"

/** Where everything lies: the shard of each tenant, and the worker of each shard, by their numbers. */
export interface Placement {
  readonly shardOf: ReadonlyArray<number>
  readonly workerOf: ReadonlyArray<number>
  readonly workers: number
}

/** As a distributed table is made: tenants by hash into shards of equal ranges, shards to the workers in turn. The seed names the tenants. */
export const byHash = (tenants: number, shards: number, workers: number, seed: number): Placement => ({
  shardOf: Array.from({ length: tenants }, (_, at) => Math.floor((hashOf(`${seed}/${at}`) / 2 ** 32) * shards)),
  workerOf: Array.from({ length: shards }, (_, at) => at % workers),
  workers
})

/**
 * Gives a shard of its own to every tenant that pays more than `bound` of everything, so that it can be moved by itself. A tenant that
 * is alone already stays.
 */
export const isolated = ({ shardOf, workerOf, workers }: Placement, shares: Shares, bound: number): Placement => {
  const [shards, placed] = [[...shardOf], [...workerOf]]
  for (const [tenant, share] of shares.entries()) {
    const shard = shards[tenant] ?? 0
    if (share <= bound || !shards.some((other, at) => other === shard && at !== tenant)) continue
    shards[tenant] = placed.push(placed[shard] ?? 0) - 1
  }
  return { shardOf: shards, workerOf: placed, workers }
}

/** What each worker carries. */
export const loads = (placement: Placement, shares: Shares): ReadonlyArray<number> =>
  carriedBy(placement.workerOf, sizesOf(placement, shares), placement.workers)

/** The worker with most to do, in parts of an even share: 1 is even, and 2 means that the cluster is full at half of what its workers could do. */
export const skewOf = (placement: Placement, shares: Shares): number => Math.max(...loads(placement, shares)) * placement.workers

export interface Rebalanced {
  readonly placement: Placement
  readonly moves: number
}

/**
 * Moves shards from the worker with most to the one with least, as long as that makes the fuller of the two less full by more than
 * `threshold` of an even share: each time the shard that leaves the two most alike. A rebalancer does that if it knows each shard's cost.
 */
export const rebalanced = (placement: Placement, shares: Shares, threshold: number): Rebalanced => {
  const { workers } = placement
  const sizes = sizesOf(placement, shares)
  const workerOf = [...placement.workerOf]
  for (let moves = 0; ; moves++) {
    const carried = carriedBy(workerOf, sizes, workers)
    const [most, least] = [Math.max(...carried), Math.min(...carried)]
    const after = (shard: number) => Math.max(most - (sizes[shard] ?? 0), least + (sizes[shard] ?? 0))
    const best = [...workerOf.keys()]
      .filter((shard) => workerOf[shard] === carried.indexOf(most))
      .reduce((found, shard) => (after(shard) < after(found) ? shard : found))
    if (after(best) >= most - threshold / workers) return { placement: { ...placement, workerOf }, moves }
    workerOf[best] = carried.indexOf(least)
  }
}

const sizesOf = ({ shardOf, workerOf }: Placement, shares: Shares): ReadonlyArray<number> => {
  const sizes = workerOf.map(() => 0)
  for (const [tenant, shard] of shardOf.entries()) sizes[shard] = (sizes[shard] ?? 0) + (shares[tenant] ?? 0)
  return sizes
}

const carriedBy = (workerOf: ReadonlyArray<number>, sizes: ReadonlyArray<number>, workers: number): ReadonlyArray<number> => {
  const carried = Array.from({ length: workers }, () => 0)
  for (const [shard, worker] of workerOf.entries()) carried[worker] = (carried[worker] ?? 0) + (sizes[shard] ?? 0)
  return carried
}

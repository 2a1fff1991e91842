/** Seeded choices: the same seed makes the same plan, although processes that really run answer when they like. */
export interface Random {
  /** A whole number from 0 to `bound` - 1. */
  readonly below: (bound: number) => number
  readonly pick: <A>(choices: readonly [A, ...ReadonlyArray<A>]) => A
  readonly chance: (share: number) => boolean
}

// Mulberry32: 32 bits of state, good enough to shuffle a plan.
export const seeded = (seed: number): Random => {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (bound: number) => Math.floor(next() * bound)
  return {
    below,
    pick: (choices) => choices[below(choices.length)] ?? choices[0],
    chance: (share) => next() < share
  }
}

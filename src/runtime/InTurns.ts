import { Effect } from "effect"

/** The number of items processed without yielding. It takes a millisecond or two when each is as large as possible. */
const ITEMS_A_TURN = 10

/** Processes the items in order, and yields to other fibers in between, so that a long list does not block them. */
export const inTurns = <A, B, E, R>(items: ReadonlyArray<A>, work: (item: A) => Effect.Effect<B, E, R>) =>
  Effect.forEach(items, (item, at) =>
    (at + 1) % ITEMS_A_TURN === 0 ? Effect.tap(work(item), () => Effect.yieldNow) : work(item)
  )

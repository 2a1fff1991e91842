import { Effect } from "effect"

/** So many items are worked on at once, which takes a millisecond or two where each is as large as it can be. */
const ITEMS_A_TURN = 10

/** Works on the items in order, and yields to other fibers of the process in between, so that a long list does not hold them up. */
export const inTurns = <A, B, E, R>(items: ReadonlyArray<A>, work: (item: A) => Effect.Effect<B, E, R>) =>
  Effect.forEach(items, (item, at) =>
    (at + 1) % ITEMS_A_TURN === 0 ? Effect.tap(work(item), () => Effect.yieldNow) : work(item)
  )

import { Effect } from "effect"

/** So many items are worked on at once, which takes a millisecond or two where each is as large as it can be. */
const ITEMS_A_TURN = 10

/** Works on the items in order, and lets whatever else waits in this process have its turn in between: one long list holds up nobody. */
export const inTurns = <A, B, E, R>(items: ReadonlyArray<A>, work: (item: A) => Effect.Effect<B, E, R>) =>
  Effect.forEach(items, (item, at) =>
    (at + 1) % ITEMS_A_TURN === 0 ? Effect.tap(work(item), () => Effect.yieldNow) : work(item)
  )

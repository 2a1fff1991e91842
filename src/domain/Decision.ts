import type { EventType } from "./Event.ts"
import type { Entry } from "./Ledger.ts"

/** The effect of one fact on one transaction. `next` is the transaction itself where the history only notes the fact. */
export interface Decision<R> {
  readonly next: R
  readonly entry: Entry | null
  readonly event: EventType | null
}

/** Nothing is booked and no event is made: the record alone is another one, or the same. */
export const unchanged = <R>(next: R): Decision<R> => ({ next, entry: null, event: null })

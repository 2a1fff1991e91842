import type { EventType } from "./Event.ts"
import type { Entry } from "./Ledger.ts"

/** The effect of one fact on one transaction. `next` is the transaction itself where the fact is only recorded in the history. */
export interface Decision<R> {
  readonly next: R
  readonly entry: Entry | null
  readonly event: EventType | null
}

/** Nothing is booked and no event is created; only the record may change. */
export const unchanged = <R>(next: R): Decision<R> => ({ next, entry: null, event: null })

import { Context, type Effect } from "effect"
import type { AppId } from "../../domain/Ids.ts"

/** Calls in flight of one circuit's line that have passed their usual time, of one tenant; null is the gateway's own work. */
export interface LateCalls {
  /** Provider, mode and operation. */
  readonly line: string
  readonly tenant: AppId | null
  readonly calls: number
}

/** The late calls of all nodes, which they tell each other, so that a provider's silence is noticed by all of them together. */
export class SharedLateCalls extends Context.Service<
  SharedLateCalls,
  {
    /** Puts what is late here now in the place of what this node said before, and answers what the other nodes said within the last seconds, summed. */
    readonly exchange: (mine: ReadonlyArray<LateCalls>) => Effect.Effect<ReadonlyArray<LateCalls>>
  }
>()("gateway/services/ports/SharedLateCalls") {}

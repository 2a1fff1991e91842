import { Context, type Effect } from "effect"
import type { AppId } from "../../domain/Ids.ts"

/** A tenant's calls in flight beyond their usual time, on one line of a circuit breaker. `tenant` null: the gateway's own. */
export interface LateCalls {
  /** Provider, mode and operation. */
  readonly line: string
  readonly tenant: AppId | null
  readonly calls: number
}

/** Shares the late calls of all nodes, so that they detect together that a provider does not answer. */
export class SharedLateCalls extends Context.Service<
  SharedLateCalls,
  {
    /** Replaces this node's late calls, and returns the sum of what the other nodes reported within the last seconds. */
    readonly exchange: (mine: ReadonlyArray<LateCalls>) => Effect.Effect<ReadonlyArray<LateCalls>>
  }
>()("gateway/services/ports/SharedLateCalls") {}

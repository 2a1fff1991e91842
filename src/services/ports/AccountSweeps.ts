import { Context, type Effect } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"

/**
 * Schedules the sweeps of provider accounts, so that one process at a time makes a sweep. Delivery is at least once: when a
 * process dies during a sweep, another one repeats it after the lease ends.
 */
export class AccountSweeps extends Context.Service<
  AccountSweeps,
  {
    /** True when this process gets the sweep; it then holds the lease until `until`. An account that was never swept is due. */
    readonly claim: (provider: string, mode: Mode, now: Instant, until: Instant) => Effect.Effect<boolean>
    /** The sweep is complete; the next one is due at `nextAt`. */
    readonly done: (provider: string, mode: Mode, nextAt: Instant) => Effect.Effect<void>
  }
>()("gateway/services/ports/AccountSweeps") {}

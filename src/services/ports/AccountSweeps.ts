import { Context, type Effect } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"

/**
 * When the account at a provider is next looked through, by whichever process comes first. At least once a turn: a process that dies in the middle leaves
 * the rest to the next one after the lease.
 */
export class AccountSweeps extends Context.Service<
  AccountSweeps,
  {
    /** Whether it is this process's turn, until `until`. An account that was never looked through is due. */
    readonly claim: (provider: string, mode: Mode, now: Instant, until: Instant) => Effect.Effect<boolean>
    /** It was looked through, and is due again at `nextAt`. */
    readonly done: (provider: string, mode: Mode, nextAt: Instant) => Effect.Effect<void>
  }
>()("gateway/services/ports/AccountSweeps") {}

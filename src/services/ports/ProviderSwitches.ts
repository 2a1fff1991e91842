import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** The last setting of a provider's switch. */
export interface ProviderSwitch {
  readonly provider: string
  readonly isOff: boolean
  /** The operator's reason, masked. */
  readonly reason: string
  readonly changedAt: Instant
}

/**
 * The switches of whole providers. A provider that is off gets nothing new, by whichever corridor or pin: no payment, no
 * exchange, no quote and no other read for a tenant. It keeps its place in the corridors (`services/routing/Routes`). Payments
 * that were sent to it before are still polled, and its callbacks are still accepted. Every node sees a change within a second.
 */
export class ProviderSwitches extends Context.Service<
  ProviderSwitches,
  {
    /** Every switch that was ever set, ordered by provider. A provider that is not listed is on. */
    readonly list: Effect.Effect<ReadonlyArray<ProviderSwitch>>
    /**
     * Sets a switch and writes its audit row in the same commit. `seen` is the time of the last change that the caller has
     * read, or null when there was none: when the switch has changed since, this returns false and writes nothing.
     */
    readonly set: (wish: ProviderSwitch, audit: AuditEntry, seen: Instant | null) => Effect.Effect<boolean>
  }
>()("gateway/services/ports/ProviderSwitches") {}

export const switchOf = (all: ReadonlyArray<ProviderSwitch>, provider: string): ProviderSwitch | undefined =>
  all.find((one) => one.provider === provider)

export const switchedOff = (all: ReadonlyArray<ProviderSwitch>): ReadonlySet<string> =>
  new Set(all.filter(({ isOff }) => isOff).map(({ provider }) => provider))

/** One line per provider that is off, for operators. */
export const switchedOffTexts = (all: ReadonlyArray<ProviderSwitch>): ReadonlyArray<string> =>
  all.filter(({ isOff }) => isOff).map(({ provider, reason }) => `switched off for everybody: ${provider} (${reason})`)

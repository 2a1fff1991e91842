import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** The switch of one whole provider, as it was set last. */
export interface ProviderSwitch {
  readonly provider: string
  readonly isOff: boolean
  /** As an operator said it, masked. */
  readonly reason: string
  readonly changedAt: Instant
}

/**
 * The switches of whole providers. To one that is off nothing new goes, by whichever corridor or pin: no payment, no exchange, no price and no other read for a
 * tenant. It keeps its place in the corridors, and what is its own there stays so (`services/routing/Routes`). Of payments that were sent to it before it is asked, and its callbacks are taken, as ever. Every node sees a change within a second.
 */
export class ProviderSwitches extends Context.Service<
  ProviderSwitches,
  {
    /** Each that was ever set, by the provider's name; a provider that is not among them is on. */
    readonly list: Effect.Effect<ReadonlyArray<ProviderSwitch>>
    /**
     * Sets one, with its audit row in the same commit. False, and nothing is written, where it was set since `seen`: the time of the last change that was looked
     * at, null where there was none.
     */
    readonly set: (wish: ProviderSwitch, audit: AuditEntry, seen: Instant | null) => Effect.Effect<boolean>
  }
>()("gateway/services/ports/ProviderSwitches") {}

export const switchOf = (all: ReadonlyArray<ProviderSwitch>, provider: string): ProviderSwitch | undefined =>
  all.find((one) => one.provider === provider)

export const switchedOff = (all: ReadonlyArray<ProviderSwitch>): ReadonlySet<string> =>
  new Set(all.filter(({ isOff }) => isOff).map(({ provider }) => provider))

/** Of each that is off, for whoever looks after the gateway. */
export const switchedOffTexts = (all: ReadonlyArray<ProviderSwitch>): ReadonlyArray<string> =>
  all.filter(({ isOff }) => isOff).map(({ provider, reason }) => `switched off for everybody: ${provider} (${reason})`)

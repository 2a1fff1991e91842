import type { Verdict } from "./Candidates.ts"
import type { Corridor } from "./Corridor.ts"

/** The fields of a corridor that routing reads. */
type RoutedRow = Pick<Corridor, "active" | "method" | "providers">

/** The one provider that a tenant is pinned to; null where the rows alone decide. */
export type PinnedProvider = string | null

/** The row's providers in the order for this tenant: the pinned provider alone where the row has it, else all of them. */
export const routeOrder = ({ providers }: Pick<RoutedRow, "providers">, pin: PinnedProvider): ReadonlyArray<string> =>
  pin !== null && providers.includes(pin) ? [pin] : [...new Set(providers)]

/**
 * The failover order of a corridor: the providers that are tried, in turn. A wallet belongs to its provider, and the same tag
 * may belong to another person elsewhere: so only the first able provider is tried for it. `services/routing/Failover` decides
 * when the next one may be tried.
 */
export const failoverOrder = (
  row: RoutedRow,
  pin: PinnedProvider,
  isAble: (provider: string) => boolean
): ReadonlyArray<string> => {
  const able = routeOrder(row, pin).filter(isAble)
  return row.method === "wallet" ? able.slice(0, 1) : able
}

/** Why each of the row's providers is left out of the failover order; `unable`: those that cannot serve the payment. */
export const leftOut = (
  row: RoutedRow,
  pin: PinnedProvider,
  unable: (provider: string) => Verdict | null
): ReadonlyArray<readonly [provider: string, verdict: Verdict]> => {
  const ordered = routeOrder(row, pin)
  const tried = failoverOrder(row, pin, (name) => unable(name) === null)
  return [...new Set(row.providers)].flatMap((name) =>
    tried.includes(name) ? [] : [[name, ordered.includes(name) ? (unable(name) ?? "other_wallet") : "pinned_elsewhere"] as const]
  )
}

/** The providers that these rows route a tenant to, each once: the pinned one, then those of active rows, then all others. */
export const routedProviders = (rows: ReadonlyArray<RoutedRow>, pin: PinnedProvider): ReadonlyArray<string> => {
  const names = (active: boolean) => rows.filter((row) => row.active === active).flatMap((row) => routeOrder(row, pin))
  return [...new Set(pinnedFirst([...names(true), ...names(false)], pin))]
}

/** The tenant's pinned provider before all others, where it is among them. */
export const pinnedFirst = (providers: ReadonlyArray<string>, pin: PinnedProvider): ReadonlyArray<string> =>
  pin !== null && providers.includes(pin) ? [pin, ...providers.filter((name) => name !== pin)] : providers

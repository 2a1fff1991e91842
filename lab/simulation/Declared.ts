import { Effect } from "effect"
import type { ProviderGuarantees } from "../../src/services/ports/Provider.ts"
import { knownSimulators } from "../../src/simulator/Registry.ts"
import type { KnownSimulator } from "../../src/simulator/SimulatorModule.ts"
import { abilitiesOf } from "../../test/providers/contract/Abilities.ts"
import { MINUTE } from "./Movement.ts"
import type { Mover } from "./Movers.ts"

/**
 * In stories of these seeds the providers are those that the program knows, with what their own adapters declare: each goes as far within that
 * as it may. Tenants are frozen and charges reversed in them as in the eventful ones; accounts are not swapped, and clocks are nearly right.
 */
export const DECLARED_FROM = 5_000_000

export const isDeclared = (seed: number): boolean => seed >= DECLARED_FROM

/** A person has what was not found by then. */
const DAY = 24 * 60 * MINUTE
/** How long one may not find what it took, whose question by our reference is not documented. */
const INFERRED_MS = 360 * MINUTE
const LATE_SHARE = 0.2

/** Every provider that is registered. Only what its adapter declares is read: nothing is called. */
export const declaredMovers: Effect.Effect<ReadonlyArray<Mover>> = Effect.scoped(
  Effect.forEach(knownSimulators, (known) =>
    Effect.map(known.accounts({ baseUrl: "http://127.0.0.1:1", timeoutMs: 1 }).open, (opened) =>
      opened.flatMap(({ adapter }) => (adapter.mode === "live" ? [moverOf(known, adapter)] : []))
    )
  )
).pipe(Effect.map((movers) => movers.flat()))

const moverOf = (
  { name, trial }: KnownSimulator,
  { callbacks, guarantees }: { readonly callbacks: { readonly keep?: unknown }; readonly guarantees: ProviderGuarantees }
): Mover => {
  const { chargeLookup, chargeNotFoundGraceMs, lookup, notFoundGraceMs } = guarantees
  return {
    name,
    guarantees,
    lateMs: lateBy(lookup, notFoundGraceMs),
    lateShare: LATE_SHARE,
    declared: {
      chargeLateMs: lateBy(lookup, chargeNotFoundGraceMs ?? notFoundGraceMs),
      isUnaskable: chargeLookup !== undefined,
      hasPages: trial.redirects === true,
      answersLater: callbacks.keep !== undefined,
      tellsPayouts: abilitiesOf(name).callsBack === undefined
    }
  }
}

const lateBy = (lookup: ProviderGuarantees["lookup"], graceMs: number): number =>
  Math.min(DAY, lookup === "by_client_ref_inferred" ? Math.max(INFERRED_MS, graceMs) : graceMs)

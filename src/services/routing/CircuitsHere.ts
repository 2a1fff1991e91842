import { Clock, Effect, Layer, Metric } from "effect"
import * as CircuitBreaker from "../../domain/CircuitBreaker.ts"
import type { AppId } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { type CallVerdict, type CircuitKey, CircuitStates, type HeldBack } from "../ports/CircuitStates.ts"
import { Policy } from "../ports/Policy.ts"

const openCircuits = Metric.gauge("gateway_provider_circuit_open", {
  description: "1 while calls of this kind to this provider are held back, be it for all tenants or for one, else 0."
})

/** A tenant whose calls fail alone is forgotten when it asked for nothing this long after its calls were let through again. */
const FORGOTTEN_AFTER_MS = 60_000

/** Called when a call of a line fails that was as at the beginning, and when it is so again. */
type OnTouched = (line: CircuitKey, isUntouched: boolean) => void

/** Of circuits that are kept for other processes: a call of theirs has ended that they let through without asking. */
interface UnaskedCalls {
  readonly ended: (line: CircuitKey, tenant: AppId | null, verdict: CallVerdict | "abandoned") => Effect.Effect<void>
}

/**
 * The circuits in the memory of this process. Each line has a circuit that all tenants share and one for each tenant: a tenant whose own recipients make the provider fail opens its own and
 * nobody else's.
 */
export const circuitsHere = (
  policy: CircuitBreaker.CircuitPolicy,
  onTouched: OnTouched = () => {}
): CircuitStates["Service"] & UnaskedCalls => {
  const lines = new Map<string, LineCircuits>()
  const circuitsOf = (line: CircuitKey): LineCircuits => lines.get(nameOf(line)) ?? noCircuits
  const keep = (line: CircuitKey, circuits: LineCircuits): void => {
    const wasUntouched = isUntouched(circuitsOf(line))
    lines.set(nameOf(line), circuits)
    if (isUntouched(circuits) !== wasUntouched) onTouched(line, !wasUntouched)
  }

  // What is read and written in one turn needs no lock: both are plain functions.
  const letThrough = (line: CircuitKey, tenant: AppId | null, now: Instant): Begun | null => {
    const circuits = circuitsOf(line)
    const own = ownOf(circuits, tenant)
    if (!CircuitBreaker.allowsTenantCall({ shared: circuits.shared, own }, now)) return null
    const [shared, ownBegun] = [CircuitBreaker.onCallStart(circuits.shared), CircuitBreaker.onCallStart(own)]
    keep(line, withOwn(withShared(circuits, shared), tenant, ownBegun))
    return { isTrial: shared._tag === "HalfOpen", isOwnTrial: ownBegun._tag === "HalfOpen" }
  }

  const end = (
    line: CircuitKey,
    tenant: AppId | null,
    begun: Begun,
    { at, verdict }: { readonly verdict: CallVerdict | "abandoned"; readonly at: Instant }
  ): Effect.Effect<void> => {
    const how = verdict === "unreachable" ? "failed" : verdict
    const blamed = verdict === "unreachable" ? null : tenant
    const before = circuitsOf(line)
    const shared = CircuitBreaker.onCallEnd(before.shared, { how, tenant: blamed, isTrial: begun.isTrial, at }, policy)
    const own = CircuitBreaker.onCallEnd(ownOf(before, tenant), { how, tenant: null, isTrial: begun.isOwnTrial, at }, policy)
    const after = forgetOld(withOwn(withShared(before, shared), tenant, own), at)
    if (after === before) return Effect.void
    keep(line, after)
    return shown(line, tenant, before, after)
  }

  return {
    begin: (line, tenant) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const begun = letThrough(line, tenant, now)
        return begun && ((verdict) => Effect.flatMap(Clock.currentTimeMillis, (at) => end(line, tenant, begun, { verdict, at })))
      }),
    ended: (line, tenant, verdict) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) => end(line, tenant, unasked, { verdict, at })),
    isOpen: (line, tenant) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const { shared } = circuitsOf(line)
        return !CircuitBreaker.allowsTenantCall({ shared, own: ownOf(circuitsOf(line), tenant) }, now)
      }),
    standing: (line) =>
      Effect.sync((): HeldBack => {
        const { shared, tenants } = circuitsOf(line)
        const own = [...tenants].flatMap(([tenant, { _tag }]) => (_tag === "Closed" ? [] : [tenant]))
        return { all: shared._tag !== "Closed", tenants: own }
      })
  }
}

/** Each process has its own. */
export const CircuitsHere = Layer.effect(
  CircuitStates,
  Effect.map(Policy, ({ circuit }) => CircuitStates.of(circuitsHere(circuit)))
)

const shown = Effect.fnUntraced(function* (line: CircuitKey, tenant: AppId | null, before: LineCircuits, after: LineCircuits) {
  yield* logChange(line, null, before.shared, after.shared)
  if (tenant !== null) yield* logChange(line, tenant, ownOf(before, tenant), ownOf(after, tenant))
  if (isHeldBack(before) !== isHeldBack(after)) yield* showGauge(line, isHeldBack(after))
})

/** What stands before one line. Whoever is not named among the tenants has a closed one. */
interface LineCircuits {
  readonly shared: CircuitBreaker.Circuit
  readonly tenants: ReadonlyMap<AppId, CircuitBreaker.Circuit>
}

interface Begun {
  readonly isTrial: boolean
  readonly isOwnTrial: boolean
}

const unasked: Begun = { isTrial: false, isOwnTrial: false }

const noCircuits: LineCircuits = { shared: CircuitBreaker.closedCircuit, tenants: new Map() }

const ownOf = ({ tenants }: LineCircuits, tenant: AppId | null): CircuitBreaker.Circuit =>
  (tenant === null ? undefined : tenants.get(tenant)) ?? CircuitBreaker.closedCircuit

const withShared = (circuits: LineCircuits, shared: CircuitBreaker.Circuit): LineCircuits =>
  shared === circuits.shared ? circuits : { ...circuits, shared }

const withOwn = (circuits: LineCircuits, tenant: AppId | null, own: CircuitBreaker.Circuit): LineCircuits => {
  if (tenant === null || own === ownOf(circuits, tenant)) return circuits
  const tenants = new Map(circuits.tenants)
  if (own === CircuitBreaker.closedCircuit) tenants.delete(tenant)
  else tenants.set(tenant, own)
  return { ...circuits, tenants }
}

const forgetOld = (circuits: LineCircuits, now: Instant): LineCircuits => {
  if (circuits.tenants.size === 0) return circuits
  const isOver = (own: CircuitBreaker.Circuit) => own._tag === "Open" && now >= own.until + FORGOTTEN_AFTER_MS
  const kept = [...circuits.tenants].filter(([, own]) => !isOver(own))
  return kept.length === circuits.tenants.size ? circuits : { ...circuits, tenants: new Map(kept) }
}

const isHeldBack = ({ shared, tenants }: LineCircuits): boolean =>
  [shared, ...tenants.values()].some(({ _tag }) => _tag !== "Closed")

/** As at the beginning: no call has failed since the last that was answered. */
const isUntouched = ({ shared, tenants }: LineCircuits): boolean =>
  tenants.size === 0 && shared._tag === "Closed" && shared.failures.size === 0

export const nameOf = ({ mode, operation, provider }: CircuitKey): string => `${provider}:${mode}:${operation}`

const showGauge = ({ mode, operation, provider }: CircuitKey, isOpen: boolean) =>
  Metric.update(Metric.withAttributes(openCircuits, { provider, mode, operation }), isOpen ? 1 : 0)

const logChange = (
  { mode, operation, provider }: CircuitKey,
  tenant: AppId | null,
  before: CircuitBreaker.Circuit,
  after: CircuitBreaker.Circuit
): Effect.Effect<void> => {
  const whose = tenant === null ? { provider, mode, operation } : { provider, mode, operation, app_id: tenant }
  if (before._tag === "Closed" && after._tag === "Open")
    return Effect.annotateLogs(
      Effect.logWarning(
        tenant === null
          ? "a circuit opened: the provider fails, and is left alone for a while"
          : "a circuit opened for one tenant: the provider fails at its calls"
      ),
      whose
    )
  return before._tag === "HalfOpen" && after._tag === "Closed"
    ? Effect.annotateLogs(Effect.logInfo("a circuit closed: the provider answers again"), whose)
    : Effect.void
}

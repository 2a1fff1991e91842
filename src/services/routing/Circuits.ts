import { Clock, Context, Effect, Exit, identity, Layer, Metric } from "effect"
import * as CircuitBreaker from "../../domain/CircuitBreaker.ts"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { ActingTenant, isPatient, withTurn } from "../../runtime/CallTurn.ts"
import { Policy } from "../ports/Policy.ts"

/**
 * The operations of a provider that a circuit can stop. Polls are not among them: nothing ever stops those. A payout's questions about its
 * recipient, `holder` and `resolve`, are apart from the reads of tenants: neither is held back because the other fails.
 */
export const operations = ["quote", "send", "charge", "exchange", "holder", "resolve", "reads"] as const
export type Operation = (typeof operations)[number]

/** One operation of one account. */
export interface CircuitKey {
  readonly provider: string
  readonly mode: Mode
  readonly operation: Operation
}

/**
 * The result of a call, for the circuit. `unreachable`: it never left, which no request can cause. `failed`: it had no result, and the
 * tenant may have chosen a recipient for which none ever has.
 */
export type CallVerdict = "answered" | "failed" | "unreachable"

/** For all tenants, and for these alone. */
export interface HeldBack {
  readonly all: boolean
  readonly tenants: ReadonlyArray<AppId>
}

/** How a call through a circuit is judged, and what stands in its place while the circuit is open. */
export interface CircuitCall<A, E> {
  readonly call: Effect.Effect<A, E>
  readonly verdict: (exit: Exit.Exit<A, E>) => CallVerdict
  readonly instead: Effect.Effect<A, E>
}

/** The circuits that calls to providers go through, for the tenant whose request this is. They are in memory: each process finds out for itself. */
export class Circuits extends Context.Service<
  Circuits,
  {
    /** A call begun now, for the tenant whose request this is, would be held back. */
    readonly isOpen: (line: CircuitKey) => Effect.Effect<boolean>
    /** The tenants whose calls are held back, or wait for the trial call. */
    readonly standing: (line: CircuitKey) => Effect.Effect<HeldBack>
    readonly through: <A, E>(line: CircuitKey, wish: CircuitCall<A, E>) => Effect.Effect<A, E>
  }
>()("gateway/services/Circuits") {
  static readonly layer = Layer.effect(
    Circuits,
    Effect.gen(function* () {
      const states = circuitStates((yield* Policy).circuit)

      const through = <A, E>(line: CircuitKey, { call, instead, verdict }: CircuitCall<A, E>): Effect.Effect<A, E> =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const end = yield* states.begin(line, yield* ActingTenant)
            if (end === null) return yield* instead
            const ended = yield* Effect.exit(restore(withTurn(call, yield* isPatient)))
            const { away, exit } = Exit.isSuccess(ended) ? ended.value : { away: null, exit: Exit.failCause(ended.cause) }
            const isAbandoned = Exit.isFailure(exit) && Exit.hasInterrupts(exit)
            const said = verdict(exit)
            // A call that was turned away says that the provider is busy, which is no failure of it, nor an end of one.
            yield* end(
              away !== null && said !== "answered" ? "abandoned" : said === "answered" && isAbandoned ? "abandoned" : said,
              noteOf(exit)
            )
            return yield* exit
          })
        )

      return Circuits.of({
        isOpen: (line) => Effect.flatMap(ActingTenant, (tenant) => states.isOpen(line, tenant)),
        standing: states.standing,
        through
      })
    })
  )
}

const openCircuits = Metric.gauge("gateway_provider_circuit_open", {
  description: "1 while calls of this kind to this provider are held back, be it for all tenants or for one, else 0."
})

/** A tenant whose calls fail alone is forgotten when it asked for nothing this long after its calls were let through again. */
const FORGOTTEN_AFTER_MS = 60_000

/** Says how a call ended that was let through, and in which words. Called once; `abandoned` where its caller went away. */
type EndCall = (verdict: CallVerdict | "abandoned", note: string) => Effect.Effect<void>

/** The words of a money call's outcome: a status word, a code, or what the connection said. A read has none. */
const noteOf = (exit: Exit.Exit<unknown, unknown>): string => {
  const value = Exit.isSuccess(exit) ? exit.value : null
  return typeof value === "object" && value !== null && "note" in value && typeof value.note === "string" ? value.note : ""
}

/**
 * The states of the circuits, in the memory of this process. Each line has a circuit that all tenants share and one for each tenant: a
 * tenant whose own recipients make the provider fail opens its own circuit only.
 */
const circuitStates = (policy: CircuitBreaker.CircuitPolicy) => {
  const lines = new Map<string, LineCircuits>()
  const circuitsOf = (line: CircuitKey): LineCircuits => lines.get(nameOf(line)) ?? noCircuits
  const keep = (line: CircuitKey, circuits: LineCircuits): void => void lines.set(nameOf(line), circuits)

  // A read and a write in one turn need no lock: both are plain functions.
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
    { at, note, verdict }: { readonly verdict: CallVerdict | "abandoned"; readonly note: string; readonly at: Instant }
  ): Effect.Effect<void> => {
    const how = verdict === "unreachable" ? "failed" : verdict
    const blamed = verdict === "unreachable" ? null : tenant
    const before = circuitsOf(line)
    const shared = CircuitBreaker.onCallEnd(before.shared, { how, tenant: blamed, isTrial: begun.isTrial, at }, policy)
    const own = CircuitBreaker.onCallEnd(ownOf(before, tenant), { how, tenant: null, isTrial: begun.isOwnTrial, at }, policy)
    const after = forgetOld(withOwn(withShared(before, shared), tenant, own), at)
    if (after === before) return Effect.void
    keep(line, after)
    return shown(line, tenant, before, after).pipe(note === "" ? identity : Effect.annotateLogs({ note }))
  }

  return {
    /** Lets a call through that begins now, or holds it back: null. `tenant` is null for the gateway's own work. */
    begin: (line: CircuitKey, tenant: AppId | null) =>
      Effect.map(Clock.currentTimeMillis, (now): EndCall | null => {
        const begun = letThrough(line, tenant, now)
        if (begun === null) return null
        return (verdict, note) => Effect.flatMap(Clock.currentTimeMillis, (at) => end(line, tenant, begun, { verdict, note, at }))
      }),
    isOpen: (line: CircuitKey, tenant: AppId | null) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const { shared } = circuitsOf(line)
        return !CircuitBreaker.allowsTenantCall({ shared, own: ownOf(circuitsOf(line), tenant) }, now)
      }),
    standing: (line: CircuitKey) =>
      Effect.sync((): HeldBack => {
        const { shared, tenants } = circuitsOf(line)
        const own = [...tenants].flatMap(([tenant, { _tag }]) => (_tag === "Closed" ? [] : [tenant]))
        return { all: shared._tag !== "Closed", tenants: own }
      })
  }
}

const shown = Effect.fnUntraced(function* (line: CircuitKey, tenant: AppId | null, before: LineCircuits, after: LineCircuits) {
  yield* logChange(line, null, before.shared, after.shared)
  if (tenant !== null) yield* logChange(line, tenant, ownOf(before, tenant), ownOf(after, tenant))
  if (isHeldBack(before) !== isHeldBack(after)) yield* showGauge(line, isHeldBack(after))
})

/** The circuits of one line. A tenant that is not in the map has a closed one. */
interface LineCircuits {
  readonly shared: CircuitBreaker.Circuit
  readonly tenants: ReadonlyMap<AppId, CircuitBreaker.Circuit>
}

interface Begun {
  readonly isTrial: boolean
  readonly isOwnTrial: boolean
}

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

const nameOf = ({ mode, operation, provider }: CircuitKey): string => `${provider}:${mode}:${operation}`

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

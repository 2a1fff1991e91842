import { type Clock, Effect, identity, Metric } from "effect"
import * as CircuitBreaker from "../../domain/CircuitBreaker.ts"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { type AnswerTimes, lateAfterMs, noAnswers, withAnswer } from "../../domain/UsualTime.ts"
import { labelledMetric } from "../../runtime/LabelledMetric.ts"
import type { LateCalls } from "../ports/SharedLateCalls.ts"

/**
 * The operations that a circuit can stop. Polls are not among them: nothing stops those. A payout's lookups of its recipient,
 * `holder` and `resolve`, are separate from the reads of tenants, so that neither is held back because the other fails.
 */
export const operations = ["quote", "send", "charge", "exchange", "holder", "resolve", "reads"] as const
export type Operation = (typeof operations)[number]

export interface CircuitKey {
  readonly provider: string
  readonly mode: Mode
  readonly operation: Operation
}

/**
 * The result of a call, for its circuit. `unreachable`: it never left, which no request can cause. `failed`: it had no result;
 * the tenant may have chosen a recipient for which no call ever has one.
 */
export type CallVerdict = "answered" | "failed" | "unreachable"

/** `all`: open for all tenants; otherwise only for `tenants`. `isSilent`: opened by late calls, before they failed. */
export interface HeldBack {
  readonly all: boolean
  readonly tenants: ReadonlyArray<AppId>
  readonly isSilent: boolean
}

const openCircuits = Metric.gauge("gateway_provider_circuit_open", {
  description: "1 while calls of this kind to this provider are held back, be it for all tenants or for one, else 0."
})
const openings = Metric.counter("gateway_provider_circuit_openings_total", {
  description:
    "How often a circuit opened, by reason: failures, or silence, which is calls in flight that passed their usual time.",
  incremental: true
})
const usualTime = labelledMetric((attributes: Record<keyof CircuitKey, string>) =>
  Metric.gauge("gateway_provider_late_after_seconds", {
    description: "From when on a call in flight of this kind to this provider counts as late, as this process has learnt it.",
    attributes
  })
)

/** A tenant whose own circuit closed again is forgotten after this long without a call. */
const FORGOTTEN_AFTER_MS = 60_000
const MS_PER_SECOND = 1000

interface CallEnd {
  /** The note of its outcome; empty when there is none. */
  readonly note: string
  /** Without its wait for our own pace. */
  readonly tookMs: number
}

export interface BegunCall {
  /** When it begins to count as late. */
  readonly lateAfterMs: number
  /** Counts it as late. Call it at most once, before `end`. */
  readonly late: Effect.Effect<void>
  /** Call it once; `abandoned` when the caller went away. */
  readonly end: (verdict: CallVerdict | "abandoned", how: CallEnd) => Effect.Effect<void>
}

/**
 * The states of the circuits, in this process's memory. Each line has a circuit that all tenants share and one for each tenant,
 * so that a tenant whose recipients make the provider fail opens only its own circuit.
 */
export const circuitStates = (policy: CircuitBreaker.CircuitPolicy, longestUsualMs: number, clock: Clock.Clock) => {
  const bounds = { atLeastMs: policy.lateMs, atMostMs: longestUsualMs }
  const noCircuits = {
    shared: CircuitBreaker.closedCircuit,
    tenants: new Map(),
    times: noAnswers,
    lateAfterMs: lateAfterMs(noAnswers, bounds)
  } as const
  const lines = new Map<string, LineCircuits>()
  const circuitsOf = (line: CircuitKey): LineCircuits => lines.get(nameOf(line)) ?? { ...noCircuits, key: line }
  const keep = (line: CircuitKey, circuits: LineCircuits): void => void lines.set(nameOf(line), circuits)

  // Reading and writing in one synchronous function needs no lock.
  const letThrough = (line: CircuitKey, tenant: AppId | null, now: Instant): Begun | null => {
    const circuits = circuitsOf(line)
    const own = ownOf(circuits, tenant)
    if (!CircuitBreaker.allowsTenantCall({ shared: circuits.shared, own }, now)) return null
    const [shared, ownBegun] = [CircuitBreaker.onCallStart(circuits.shared), CircuitBreaker.onCallStart(own)]
    keep(line, withOwn(withShared(circuits, shared), tenant, ownBegun))
    return { isTrial: shared._tag === "HalfOpen", isOwnTrial: ownBegun._tag === "HalfOpen", isLate: false }
  }

  const change = (line: CircuitKey, tenant: AppId | null, after: LineCircuits): Effect.Effect<void> => {
    const before = circuitsOf(line)
    if (after === before) return Effect.void
    keep(line, after)
    return shown(tenant, before, after, "")
  }

  const late = (line: CircuitKey, tenant: AppId | null, begun: Begun) =>
    Effect.suspend(() => {
      const at = clock.currentTimeMillisUnsafe()
      const before = circuitsOf(line)
      begun.isLate = true
      const shared = begun.isTrial ? before.shared : CircuitBreaker.onCallLate(before.shared, tenant, at, policy)
      const own = begun.isOwnTrial ? ownOf(before, tenant) : CircuitBreaker.onCallLate(ownOf(before, tenant), null, at, policy)
      return change(line, tenant, withOwn(withShared(before, shared), tenant, own))
    })

  const end = (line: CircuitKey, tenant: AppId | null, begun: Begun, { note, tookMs, verdict }: Ended) =>
    Effect.suspend(() => {
      const at = clock.currentTimeMillisUnsafe()
      const how = verdict === "unreachable" ? "failed" : verdict
      const blamed = verdict === "unreachable" ? null : tenant
      const lateOf = (whose: AppId | null) => (begun.isLate ? { lateOf: whose } : {})
      const before = circuitsOf(line)
      const call = { how, tenant: blamed, isTrial: begun.isTrial, at, ...lateOf(tenant) } as const
      const ownCall = { how, tenant: null, isTrial: begun.isOwnTrial, at, ...lateOf(null) } as const
      const shared = CircuitBreaker.onCallEnd(before.shared, call, policy)
      const own = CircuitBreaker.onCallEnd(ownOf(before, tenant), ownCall, policy)
      const changed = forgetOld(withOwn(withShared(before, shared), tenant, own), at)
      const after = how === "answered" ? withTime(changed, withAnswer(before.times, tookMs)) : changed
      keep(line, after)
      return shown(tenant, before, after, note)
    })

  const withTime = (circuits: LineCircuits, times: AnswerTimes): LineCircuits => ({
    ...circuits,
    times,
    lateAfterMs: lateAfterMs(times, bounds)
  })

  const withElsewhere = (before: LineCircuits, elsewhere: CircuitBreaker.CallsOfTenants, at: Instant): Effect.Effect<void> => {
    const shared = CircuitBreaker.onLateElsewhere(before.shared, elsewhere, at, policy)
    const opened = [...before.tenants].flatMap(([tenant, own]) => {
      const circuit = CircuitBreaker.onLateElsewhere(own, new Map([[null, elsewhere.get(tenant) ?? 0]]), at, policy)
      return circuit === own ? [] : [[tenant, circuit] as const]
    })
    const after = opened.reduce<LineCircuits>((all, [tenant, own]) => withOwn(all, tenant, own), withShared(before, shared))
    if (after === before) return Effect.void
    keep(before.key, after)
    const logOwn = ([tenant, own]: (typeof opened)[number]) => logChange(before.key, tenant, ownOf(before, tenant), own)
    return Effect.andThen(shown(null, before, after, ""), Effect.forEach(opened, logOwn, { discard: true }))
  }

  return {
    /** Admits a call that begins now, or returns null to hold it back. `tenant` is null for the gateway's own work. */
    begin: (line: CircuitKey, tenant: AppId | null): BegunCall | null => {
      const begun = letThrough(line, tenant, clock.currentTimeMillisUnsafe())
      if (begun === null) return null
      return {
        lateAfterMs: circuitsOf(line).lateAfterMs,
        late: late(line, tenant, begun),
        end: (verdict, how) => end(line, tenant, begun, { verdict, ...how })
      }
    },
    isOpen: (line: CircuitKey, tenant: AppId | null): boolean => {
      const circuits = circuitsOf(line)
      const both = { shared: circuits.shared, own: ownOf(circuits, tenant) }
      return !CircuitBreaker.allowsTenantCall(both, clock.currentTimeMillisUnsafe())
    },
    standing: (line: CircuitKey) =>
      Effect.sync((): HeldBack => {
        const { shared, tenants } = circuitsOf(line)
        const own = [...tenants].flatMap(([tenant, { _tag }]) => (_tag === "Closed" ? [] : [tenant]))
        const isSilent = [shared, ...tenants.values()].some(CircuitBreaker.isSilent)
        return { all: shared._tag !== "Closed", tenants: own, isSilent }
      }),

    /** This node's late calls, for the others; for a circuit that such calls opened, those, until a trial call begins. */
    late: Effect.sync((): ReadonlyArray<LateCalls> => {
      const now = clock.currentTimeMillisUnsafe()
      return [...lines].flatMap(([line, { shared, tenants }]) => {
        const calls = new Map(CircuitBreaker.lateCallsOf(shared, now))
        for (const [tenant, own] of tenants)
          for (const count of CircuitBreaker.lateCallsOf(own, now).values())
            calls.set(tenant, Math.max(count, calls.get(tenant) ?? 0))
        return [...calls].map(([tenant, count]) => ({ line, tenant, calls: count }))
      })
    }),

    /** Counts the late calls of the other nodes. */
    countElsewhere: (theirs: ReadonlyArray<LateCalls>) =>
      Effect.suspend(() => {
        const at = clock.currentTimeMillisUnsafe()
        return Effect.forEach(
          [...lines.values()],
          (before) => {
            const elsewhere = new Map(
              theirs.flatMap(({ calls, line, tenant }) => (line === nameOf(before.key) ? [[tenant, calls] as const] : []))
            )
            return elsewhere.size === 0 ? Effect.void : withElsewhere(before, elsewhere, at)
          },
          { discard: true }
        )
      })
  }
}

/** Logs and shows what an event has changed. Most calls change nothing. `note`: of the call's outcome; empty when there is none. */
const shown = (tenant: AppId | null, before: LineCircuits, after: LineCircuits, note: string) => {
  const line = after.key
  const isNewTime = after.lateAfterMs !== before.lateAfterMs || (before.times.seen === 0 && after.times.seen > 0)
  const showing = isNewTime ? showUsual(line, after.lateAfterMs) : Effect.void
  if (before.shared === after.shared && before.tenants === after.tenants) return showing
  return Effect.gen(function* () {
    yield* showing
    yield* logChange(line, null, before.shared, after.shared)
    if (tenant !== null) yield* logChange(line, tenant, ownOf(before, tenant), ownOf(after, tenant))
    if (isHeldBack(before) !== isHeldBack(after)) yield* showGauge(line, isHeldBack(after))
  }).pipe(note === "" ? identity : Effect.annotateLogs({ note }))
}

/** The circuits of one line. A tenant without an entry has a closed one. */
interface LineCircuits {
  readonly key: CircuitKey
  readonly shared: CircuitBreaker.Circuit
  readonly tenants: ReadonlyMap<AppId, CircuitBreaker.Circuit>
  /** The durations of answered calls on the line, of all tenants. */
  readonly times: AnswerTimes
  /** When a call on the line begins to count as late, by `times`. */
  readonly lateAfterMs: number
}

interface Begun {
  readonly isTrial: boolean
  readonly isOwnTrial: boolean
  isLate: boolean
}

interface Ended extends CallEnd {
  readonly verdict: CallVerdict | "abandoned"
}

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

const showUsual = ({ mode, operation, provider }: CircuitKey, lateMs: number) =>
  usualTime({ provider, mode, operation }, lateMs / MS_PER_SECOND)

const logChange = (
  { mode, operation, provider }: CircuitKey,
  tenant: AppId | null,
  before: CircuitBreaker.Circuit,
  after: CircuitBreaker.Circuit
): Effect.Effect<void> => {
  const whose = tenant === null ? { provider, mode, operation } : { provider, mode, operation, app_id: tenant }
  if (before._tag === "Closed" && after._tag === "Open") {
    const reason = CircuitBreaker.isSilent(after) ? "silence" : "failures"
    return Effect.andThen(
      Metric.update(Metric.withAttributes(openings, { provider, mode, operation, reason }), 1),
      Effect.annotateLogs(opening(reason, tenant), whose)
    )
  }
  return before._tag !== "Closed" && after._tag === "Closed"
    ? Effect.annotateLogs(Effect.logInfo("a circuit closed: the provider answers again"), whose)
    : Effect.void
}

const opening = (reason: "failures" | "silence", tenant: AppId | null): Effect.Effect<void> => {
  if (reason === "silence")
    return tenant === null
      ? Effect.logWarning("a circuit opened: calls in flight are not answered in their usual time, and no further one begins")
      : Effect.logWarning("a circuit opened for one tenant: its calls in flight are not answered in their usual time")
  return tenant === null
    ? Effect.logWarning("a circuit opened: the provider fails, and is left alone for a while")
    : Effect.logWarning("a circuit opened for one tenant: the provider fails at its calls")
}

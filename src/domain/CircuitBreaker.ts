import type { AppId } from "./Ids.ts"
import type { Instant } from "./Instant.ts"

/** The circuit breaker of one operation of one provider. It opens when too many calls in a row fail, or pass their usual time. */
export type Circuit =
  /** `late`: calls in flight that have passed their usual time; no call was answered since. Each counts as a failure. */
  | { readonly _tag: "Closed"; readonly failures: CallsOfTenants; readonly late: CallsOfTenants }
  /** Nothing is let through until then; `forMs` is how long it stayed open this time. */
  | {
      readonly _tag: "Open"
      readonly until: Instant
      readonly forMs: number
      readonly awaited?: number
      readonly openedBy?: CallsOfTenants
    }
  /** One call is under way that decides, and no other is let through. */
  | { readonly _tag: "HalfOpen"; readonly forMs: number; readonly awaited?: number }
// `awaited` is there where calls in flight opened it, before they had failed: so many of their answers close it again. `openedBy` are the late and
// failed calls of this node that did, for the other nodes.

/** Calls in a row, by whose request they were; null is the gateway's own work. */
export type CallsOfTenants = ReadonlyMap<AppId | null, number>

/** `abandoned` says nothing about the provider: the caller went away. */
export type CallResult = "answered" | "failed" | "abandoned"

/** How one call ended. `tenant` made the request; null where the call counts for every tenant. */
export interface EndedCall {
  readonly how: CallResult
  readonly tenant: AppId | null
  /** Of the call that a half-open circuit let through. */
  readonly isTrial: boolean
  /** Whose late call it was counted as; absent where it was not late. */
  readonly lateOf?: AppId | null
  readonly at: Instant
}

export interface CircuitPolicy {
  /** Failures in a row, with no success between them, that open it. A call that passes its usual time counts from then on. */
  readonly failures: number
  /** How long it stays open the first time; twice as long after each trial that failed. */
  readonly openMs: number
  /** No call is late before. */
  readonly lateMs: number
}

/** However often its trials failed, it is tried again after at most this long. */
export const LONGEST_OPEN_MS = 5_000

const none: CallsOfTenants = new Map()

export const closedCircuit: Circuit = { _tag: "Closed", failures: none, late: none }

export const allowsCall = (circuit: Circuit, now: Instant): boolean =>
  circuit._tag === "Closed" || (circuit._tag === "Open" && now >= circuit.until)

/**
 * Whether a tenant's call passes the circuit that all share and its own. A tenant whose own calls fail leaves the shared circuit's trial to
 * other tenants for a while, because its choice of recipients could hold them back.
 */
export const allowsTenantCall = ({ own, shared }: { readonly shared: Circuit; readonly own: Circuit }, now: Instant): boolean =>
  allowsCall(own, now) && allowsCall(shared, own._tag === "Closed" ? now : now - LONGEST_OPEN_MS)

/** Whether calls in flight opened it, that had not failed. */
export const isSilent = (circuit: Circuit): boolean => circuit._tag !== "Closed" && circuit.awaited !== undefined

/**
 * The late calls that this node tells the others of: those of a closed circuit, and those that opened one, until it may be tried again. A node
 * that is left alone after that says nothing more.
 */
export const lateCallsOf = (circuit: Circuit, now: Instant): CallsOfTenants => {
  if (circuit._tag === "Closed") return circuit.late
  return circuit._tag === "Open" && now < circuit.until ? (circuit.openedBy ?? none) : none
}

/** The circuit after a call was let through. */
export const onCallStart = (circuit: Circuit): Circuit => {
  if (circuit._tag !== "Open") return circuit
  const { awaited, forMs } = circuit
  return { _tag: "HalfOpen", forMs, ...(awaited === undefined ? {} : { awaited }) }
}

/** The circuit after a call passed its usual time that began while it was closed. It goes on, and may be answered. */
export const onCallLate = (circuit: Circuit, tenant: AppId | null, at: Instant, policy: CircuitPolicy): Circuit => {
  if (circuit._tag !== "Closed") return circuit
  const late = changed(circuit.late, tenant, 1)
  return opensSilent({ ...circuit, late }, none, at, policy)
}

/** The circuit once it is known whose calls are late at other nodes: where one is late here, they count as if they were here. */
export const onLateElsewhere = (circuit: Circuit, elsewhere: CallsOfTenants, at: Instant, policy: CircuitPolicy): Circuit =>
  circuit._tag === "Closed" && circuit.late.size > 0 ? opensSilent(circuit, elsewhere, at, policy) : circuit

const opensSilent = (
  circuit: Extract<Circuit, { readonly _tag: "Closed" }>,
  elsewhere: CallsOfTenants,
  at: Instant,
  policy: CircuitPolicy
): Circuit => {
  const { failures, late } = circuit
  if (weight([failures, late, elsewhere], policy) < policy.failures) return circuit
  return { ...opened(policy.openMs, at), awaited: Math.ceil(policy.failures / 2), openedBy: summed([failures, late]) }
}

/**
 * The circuit after a call ended. Of calls that began while it was closed only the trial changes it once it has opened; where late calls opened it,
 * their answers say as well that the provider is there.
 */
export const onCallEnd = (circuit: Circuit, call: EndedCall, policy: CircuitPolicy): Circuit => {
  const { at, how, isTrial, lateOf, tenant } = call
  if (isTrial !== (circuit._tag === "HalfOpen")) return how === "answered" ? answeredMeanwhile(circuit) : circuit
  switch (circuit._tag) {
    case "Closed": {
      if (how === "answered") return closedCircuit
      const late = lateOf === undefined ? circuit.late : changed(circuit.late, lateOf, -1)
      if (how === "abandoned") return late === circuit.late ? circuit : { ...circuit, late }
      const failures = changed(circuit.failures, tenant, 1)
      return weight([failures, late], policy) < policy.failures ? { _tag: "Closed", failures, late } : opened(policy.openMs, at)
    }
    case "HalfOpen":
      if (how === "answered") return closedCircuit
      if (how === "abandoned") return { ...circuit, _tag: "Open", until: at }
      return opened(Math.max(circuit.forMs, Math.min(circuit.forMs * 2, LONGEST_OPEN_MS)), at)
    case "Open":
      return how === "answered" ? answeredMeanwhile(circuit) : circuit
  }
}

const answeredMeanwhile = (circuit: Circuit): Circuit => {
  if (circuit._tag === "Closed") return closedCircuit
  if (circuit.awaited === undefined) return circuit
  return circuit.awaited <= 1 ? closedCircuit : { ...circuit, awaited: circuit.awaited - 1 }
}

const changed = (calls: CallsOfTenants, tenant: AppId | null, by: 1 | -1): CallsOfTenants => {
  const count = (calls.get(tenant) ?? 0) + by
  if (count < 0) return calls
  const next = new Map(calls).set(tenant, count)
  if (count === 0) next.delete(tenant)
  return next
}

/**
 * The weight of consecutive failures. A tenant chooses its recipients, and with them perhaps the failures: one tenant alone weighs too
 * little to open the circuit that all tenants share, even where one failure is enough.
 */
const weight = (counted: ReadonlyArray<CallsOfTenants>, policy: CircuitPolicy): number => {
  const mostOfOneTenant = Math.min(Math.ceil(policy.failures / 2), policy.failures - 1)
  return [...summed(counted)].reduce(
    (sum, [tenant, count]) => sum + (tenant === null ? count : Math.min(count, mostOfOneTenant)),
    0
  )
}

const summed = (counted: ReadonlyArray<CallsOfTenants>): CallsOfTenants => {
  const sums = new Map<AppId | null, number>()
  for (const [tenant, count] of counted.flatMap((calls) => [...calls])) sums.set(tenant, (sums.get(tenant) ?? 0) + count)
  return sums
}

const opened = (forMs: number, now: Instant) => ({ _tag: "Open", until: now + forMs, forMs }) as const

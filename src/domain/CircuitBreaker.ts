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
  /** One trial call is under way and decides; no other call is let through. */
  | { readonly _tag: "HalfOpen"; readonly forMs: number; readonly awaited?: number }
// `awaited` is present where late calls opened the circuit before they had failed: when that many of their answers arrive, it
// closes again. `openedBy` has the late and failed calls of this node that opened it, for the other nodes.

/** Consecutive calls, by the tenant whose request made them; null stands for the gateway's own work. */
export type CallsOfTenants = ReadonlyMap<AppId | null, number>

/** `abandoned` says nothing about the provider: the caller went away. */
export type CallResult = "answered" | "failed" | "abandoned"

/** How one call ended. `tenant` is the tenant whose request made it; null where the call counts for every tenant. */
export interface EndedCall {
  readonly how: CallResult
  readonly tenant: AppId | null
  /** Whether this was the call that a half-open circuit let through. */
  readonly isTrial: boolean
  /** The tenant that it was counted for as a late call; absent where it was not late. */
  readonly lateOf?: AppId | null
  readonly at: Instant
}

export interface CircuitPolicy {
  /** How many failures in a row open the circuit. A call counts as one from the moment it exceeds its usual time. */
  readonly failures: number
  /** How long the circuit stays open the first time, in milliseconds; doubled after each failed trial. */
  readonly openMs: number
  /** No call counts as late before this many milliseconds. */
  readonly lateMs: number
}

/** However many trials failed, the next one is made after at most this many milliseconds. */
export const LONGEST_OPEN_MS = 5_000

const none: CallsOfTenants = new Map()

export const closedCircuit: Circuit = { _tag: "Closed", failures: none, late: none }

export const allowsCall = (circuit: Circuit, now: Instant): boolean =>
  circuit._tag === "Closed" || (circuit._tag === "Open" && now >= circuit.until)

/**
 * Whether a tenant's call passes both the shared circuit and the tenant's own. A tenant whose own calls fail leaves the shared
 * circuit's trial to other tenants for a while: its choice of recipients could otherwise keep the circuit open for everyone.
 */
export const allowsTenantCall = ({ own, shared }: { readonly shared: Circuit; readonly own: Circuit }, now: Instant): boolean =>
  allowsCall(own, now) && allowsCall(shared, own._tag === "Closed" ? now : now - LONGEST_OPEN_MS)

/** Whether late calls opened the circuit before they had failed. */
export const isSilent = (circuit: Circuit): boolean => circuit._tag !== "Closed" && circuit.awaited !== undefined

/**
 * The late calls that this node reports to the others: those of a closed circuit, and those that opened one, until it may be
 * tried again. A node that then gets no more traffic reports nothing further.
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

/** The circuit after a call that began while it was closed exceeded its usual time. The call goes on, and may still be answered. */
export const onCallLate = (circuit: Circuit, tenant: AppId | null, at: Instant, policy: CircuitPolicy): Circuit => {
  if (circuit._tag !== "Closed") return circuit
  const late = changed(circuit.late, tenant, 1)
  return opensSilent({ ...circuit, late }, none, at, policy)
}

/** The circuit once the late calls of other nodes are known. If a call is late here too, theirs count as if they were here. */
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

/** The circuit after a call. An open one is changed by its trial, and by answers of the late calls that opened it. */
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
 * The weight of consecutive failures. A tenant chooses its recipients and so can cause failures: one tenant alone never has
 * enough weight to open the circuit that all tenants share, not even where one failure would be enough.
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

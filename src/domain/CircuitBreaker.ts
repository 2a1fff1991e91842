import type { AppId } from "./Ids.ts"
import type { Instant } from "./Instant.ts"

/** The circuit breaker of one operation of one provider. It opens when too many calls in a row fail. */
export type Circuit =
  | { readonly _tag: "Closed"; readonly failures: Failures }
  /** Nothing is let through until then; `forMs` is how long it stayed open this time. */
  | { readonly _tag: "Open"; readonly until: Instant; readonly forMs: number }
  /** One call is under way that decides, and no other is let through. */
  | { readonly _tag: "HalfOpen"; readonly forMs: number }

/** Failures in a row, by whose request they met; null is the gateway's own work. */
type Failures = ReadonlyMap<AppId | null, number>

/** `abandoned` says nothing about the provider: the caller went away. */
export type CallResult = "answered" | "failed" | "abandoned"

/** How one call ended. `tenant` made the request; null where the call counts for every tenant. */
export interface EndedCall {
  readonly how: CallResult
  readonly tenant: AppId | null
  /** Of the call that a half-open circuit let through. */
  readonly isTrial: boolean
  readonly at: Instant
}

export interface CircuitPolicy {
  /** Failures in a row, with no success between them, that open it. */
  readonly failures: number
  /** How long it stays open the first time; twice as long after each trial that failed. */
  readonly openMs: number
}

/** However often its trials failed, it is tried again after at most this long. */
export const LONGEST_OPEN_MS = 5_000

export const closedCircuit: Circuit = { _tag: "Closed", failures: new Map() }

export const allowsCall = (circuit: Circuit, now: Instant): boolean =>
  circuit._tag === "Closed" || (circuit._tag === "Open" && now >= circuit.until)

/**
 * Whether a tenant's call passes the circuit that all share and its own. A tenant whose own calls fail leaves the shared circuit's trial to
 * other tenants for a while, because its choice of recipients could hold them back.
 */
export const allowsTenantCall = ({ own, shared }: { readonly shared: Circuit; readonly own: Circuit }, now: Instant): boolean =>
  allowsCall(own, now) && allowsCall(shared, own._tag === "Closed" ? now : now - LONGEST_OPEN_MS)

/** The circuit after a call was let through. */
export const onCallStart = (circuit: Circuit): Circuit =>
  circuit._tag === "Open" ? { _tag: "HalfOpen", forMs: circuit.forMs } : circuit

/** The circuit after a call ended. A call that began while it was closed changes nothing once it has opened: only the trial does. */
export const onCallEnd = (circuit: Circuit, { at, how, isTrial, tenant }: EndedCall, policy: CircuitPolicy): Circuit => {
  if (isTrial !== (circuit._tag === "HalfOpen")) return circuit
  switch (circuit._tag) {
    case "Closed": {
      if (how !== "failed") return how === "answered" ? closedCircuit : circuit
      const failures = new Map(circuit.failures).set(tenant, (circuit.failures.get(tenant) ?? 0) + 1)
      return weight(failures, policy) < policy.failures ? { _tag: "Closed", failures } : opened(policy.openMs, at)
    }
    case "HalfOpen":
      if (how === "answered") return closedCircuit
      if (how === "abandoned") return { _tag: "Open", until: at, forMs: circuit.forMs }
      return opened(Math.max(circuit.forMs, Math.min(circuit.forMs * 2, LONGEST_OPEN_MS)), at)
    case "Open":
      return circuit
  }
}

/**
 * The weight of consecutive failures. A tenant chooses its recipients, and with them perhaps the failures: one tenant alone weighs too
 * little to open the circuit that all tenants share, even where one failure is enough.
 */
const weight = (failures: Failures, policy: CircuitPolicy): number => {
  const mostOfOneTenant = Math.min(Math.ceil(policy.failures / 2), policy.failures - 1)
  return [...failures].reduce((sum, [tenant, count]) => sum + (tenant === null ? count : Math.min(count, mostOfOneTenant)), 0)
}

const opened = (forMs: number, now: Instant): Circuit => ({ _tag: "Open", until: now + forMs, forMs })

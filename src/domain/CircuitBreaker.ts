import type { Instant } from "./Instant.ts"

/** What stands between us and one operation of one provider. It opens when too many calls in a row came to nothing. */
export type Circuit =
  | { readonly _tag: "Closed"; readonly failures: number }
  /** Nothing is let through until then; `forMs` is how long it stayed open this time. */
  | { readonly _tag: "Open"; readonly until: Instant; readonly forMs: number }
  /** Half open: one call is under way that decides, and no other is let through. */
  | { readonly _tag: "Trial"; readonly forMs: number }

/** `abandoned` says nothing about the provider: whoever waited went away. */
export type CallEnd = "answered" | "failed" | "abandoned"

export interface CircuitPolicy {
  /** Failures in a row, with no success between them, that open it. */
  readonly failures: number
  /** How long it stays open the first time; twice as long after each trial that failed. */
  readonly openMs: number
}

/** However often its trials failed, it is tried again after this long. */
export const LONGEST_OPEN_MS = 5_000

export const closedCircuit: Circuit = { _tag: "Closed", failures: 0 }

export const letsThrough = (circuit: Circuit, now: Instant): boolean =>
  circuit._tag === "Closed" || (circuit._tag === "Open" && now >= circuit.until)

/** What a call that is let through makes of it. */
export const begun = (circuit: Circuit): Circuit => (circuit._tag === "Open" ? { _tag: "Trial", forMs: circuit.forMs } : circuit)

/** A call that began while it was closed says nothing about one that has opened since: only its trial does. */
export const ended = (circuit: Circuit, isTrial: boolean, end: CallEnd, policy: CircuitPolicy, now: Instant): Circuit => {
  if (isTrial !== (circuit._tag === "Trial")) return circuit
  switch (circuit._tag) {
    case "Closed": {
      if (end !== "failed") return end === "answered" ? closedCircuit : circuit
      const failures = circuit.failures + 1
      return failures < policy.failures ? { _tag: "Closed", failures } : opened(policy.openMs, now)
    }
    case "Trial":
      if (end === "answered") return closedCircuit
      if (end === "abandoned") return { _tag: "Open", until: now, forMs: circuit.forMs }
      return opened(Math.max(circuit.forMs, Math.min(circuit.forMs * 2, LONGEST_OPEN_MS)), now)
    case "Open":
      return circuit
  }
}

const opened = (forMs: number, now: Instant): Circuit => ({ _tag: "Open", until: now + forMs, forMs })

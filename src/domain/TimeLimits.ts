import type { Instant } from "./Instant.ts"

// Times that have to outlast each other, in milliseconds. The settings among them are held against these when the process starts.

/**
 * An older record is not sent any more: after so long a pause the record may have been declared never sent meanwhile. Every grace of "not
 * found" is longer than this and a money call together.
 */
const SEND_WITHIN_MS = 30_000
/** Provider calls of one step at most: what it has to read first, the call itself, and the look after a refusal. */
const CALLS_A_STEP = 3
/** For commits, and for a machine that is slow. */
const MARGIN_MS = 10_000
/** Of a lease that is set so short that the margin would eat it, this part is left to the request. */
const SHORT_LEASE_SHARE = 0.8

/** The last moment at which what was recorded then may leave. */
export const leavesBy = (recordedAt: Instant): Instant => recordedAt + SEND_WITHIN_MS

export const isTooLateToSend = (recordedAt: Instant, now: Instant): boolean => now > leavesBy(recordedAt)

/** So long after it was recorded a payout, a charge or an exchange may still be on its way to the provider. */
export const longestInFlightMs = (providerTimeoutMs: number): number =>
  SEND_WITHIN_MS + providerTimeoutMs * CALLS_A_STEP + MARGIN_MS

/** The lease of one poll, whatever caused it. */
export const pollLeaseMs = (providerTimeoutMs: number): number => providerTimeoutMs * CALLS_A_STEP + MARGIN_MS

/**
 * A request is answered this long after its key was claimed, the checking of its signature included, so that no other request can claim the
 * key meanwhile.
 */
export const requestDeadlineMs = (leaseMs: number): number => Math.max(leaseMs - MARGIN_MS, leaseMs * SHORT_LEASE_SHARE)

/** The shortest lease whose deadline leaves a request the time for its provider's calls. */
export const shortestLeaseMs = (providerTimeoutMs: number): number => {
  const calls = providerTimeoutMs * CALLS_A_STEP
  return Math.min(calls + MARGIN_MS, calls / SHORT_LEASE_SHARE)
}

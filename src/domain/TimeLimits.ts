import type { Instant } from "./Instant.ts"

// Durations in milliseconds that must outlast each other. The settings among them are checked against these at the start.

/** An older record is not sent: it may have been declared never sent. "Not found" has longer graces than this and a call. */
const SEND_WITHIN_MS = 30_000
/** The most provider calls of one step: a read that it needs first, the call itself, and the query after a refusal. */
const CALLS_A_STEP = 3
/** For commits, and for a slow machine. */
const MARGIN_MS = 10_000
/** If a lease is so short that the margin would use it up, this share of it is left to the request. */
const SHORT_LEASE_SHARE = 0.8

/** The latest moment at which a transaction recorded then may be sent. */
export const leavesBy = (recordedAt: Instant): Instant => recordedAt + SEND_WITHIN_MS

export const isTooLateToSend = (recordedAt: Instant, now: Instant): boolean => now > leavesBy(recordedAt)

/** How long after it was recorded a payout, a charge or an exchange may still be on its way to the provider. */
export const longestInFlightMs = (providerTimeoutMs: number): number =>
  SEND_WITHIN_MS + providerTimeoutMs * CALLS_A_STEP + MARGIN_MS

/** The lease of one poll, whatever triggered it. */
export const pollLeaseMs = (providerTimeoutMs: number): number => providerTimeoutMs * CALLS_A_STEP + MARGIN_MS

/**
 * A request is answered within this time after its key was claimed, including the check of its signature, so that no other request can
 * claim the key meanwhile.
 */
export const requestDeadlineMs = (leaseMs: number): number => Math.max(leaseMs - MARGIN_MS, leaseMs * SHORT_LEASE_SHARE)

/** The shortest lease whose deadline leaves a request enough time for its provider calls. */
export const shortestLeaseMs = (providerTimeoutMs: number): number => {
  const calls = providerTimeoutMs * CALLS_A_STEP
  return Math.min(calls + MARGIN_MS, calls / SHORT_LEASE_SHARE)
}

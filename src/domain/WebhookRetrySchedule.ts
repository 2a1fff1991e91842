import { DateTime, Option } from "effect"
import type { Instant } from "./Instant.ts"

/** The pauses before a webhook's attempts, in milliseconds; the first is usually 0. The setting `WEBHOOK_SCHEDULE`. */
export type WebhookRetrySchedule = ReadonlyArray<number>

/** The jitter of a delay, as a share of the base delay, so that deliveries that failed together are not all retried together. */
const JITTER = 0.2
/** An endpoint may ask for up to this many times the base delay. */
const RETRY_AFTER_FACTOR = 2
const SECOND = 1000
/** The longest time that one attempt may take, including its DNS lookup and connection. */
export const ATTEMPT_AT_MOST_MS = 15 * SECOND
const HTTP_DATE = /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/

interface FailedAttempt {
  readonly at: Instant
  /** Attempts made so far, including this one. */
  readonly attempts: number
  /** The endpoint's own `Retry-After`, as it was sent. */
  readonly retryAfter: string | null
  /** Uniform in [0, 1). */
  readonly random: number
}

/** When to attempt again after a failure; null past the schedule, where the delivery is parked. */
export const nextAttempt = (schedule: WebhookRetrySchedule, failed: FailedAttempt): Instant | null => {
  const base = schedule[failed.attempts]
  if (base === undefined) return null
  const jittered = base * (1 - JITTER + 2 * JITTER * failed.random)
  const requestedMs = failed.retryAfter === null ? null : retryAfterMs(failed.retryAfter, failed.at)
  if (requestedMs === null) return failed.at + Math.round(jittered)
  const granted = Math.min(Math.max(requestedMs, base), base * RETRY_AFTER_FACTOR)
  // Never earlier than the delay that was granted: jitter only moves it later.
  return failed.at + Math.round(Math.max(granted, jittered))
}

/** When the second attempt has ended at the latest, in milliseconds from the first's start. A schedule of one ends with it. */
export const secondAttemptEndedMs = (schedule: WebhookRetrySchedule): number => {
  const [, wait] = schedule
  return wait === undefined ? ATTEMPT_AT_MOST_MS : 2 * ATTEMPT_AT_MOST_MS + RETRY_AFTER_FACTOR * wait
}

/** Seconds or an HTTP date (RFC 9110 section 10.2.3); null when it is neither. */
const retryAfterMs = (header: string, now: Instant): number | null => {
  if (/^\d{1,9}$/.test(header)) return Number(header) * SECOND
  if (!HTTP_DATE.test(header)) return null
  return Option.match(DateTime.make(header), { onNone: () => null, onSome: (date) => DateTime.toEpochMillis(date) - now })
}

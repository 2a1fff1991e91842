import { GatewayError } from "./Errors.ts"

export interface Retries {
  /** How often one call is sent at most. */
  readonly attempts: number
  /** No attempt begins later than this after the first. */
  readonly withinMs: number
  /** The first pause; it doubles with each attempt, up to the longest, and is shortened by chance to as little as half. */
  readonly pauseMs: number
  readonly longestPauseMs: number
}

export const defaultRetries: Retries = { attempts: 8, withinMs: 120_000, pauseMs: 250, longestPauseMs: 10_000 }

/**
 * What a second sending may do. A `question` can be repeated freely. `money` can, too, because its idempotency key is sent with it. What
 * is done `once` is not sent again where no answer came, for it would be done twice.
 */
export type CallKind = "question" | "money" | "once"

/**
 * Calls `attempt` until it succeeds or its error is final. Only what is retriable is sent again, and what got no answer where that is
 * harmless. Once an attempt of a money call may have been carried out, no later refusal proves that nothing moved, unless it settles the
 * key: it is sent again, since a refusal that was kept comes back as one that settles it, and ends ambiguous otherwise.
 */
export const withRetries = async <A>(
  attempt: () => Promise<A>,
  kind: CallKind,
  retries: Retries,
  signal: AbortSignal | undefined
): Promise<A> => {
  const end = Date.now() + retries.withinMs
  let mayHaveRun = false
  let refused = 0
  for (let number = 1; ; number++) {
    if (signal?.aborted === true) throw mayHaveRun ? aborted(signal.reason) : signal.reason
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      mayHaveRun ||= kind === "money" && unanswered.has(error.code)
      refused += error.code === "unauthorized" ? 1 : 0
      const pause = pauseAfter(number, error, retries)
      const isLast = number >= retries.attempts || refused >= UNAUTHORIZED_ATTEMPTS || Date.now() + pause > end
      const provesNothing = mayHaveRun && !isOpen(error) && !error.settlesKey
      const isSentAgain = isResendable(error, kind) || (provesNothing && error.class === "terminal")
      if (isLast || !isSentAgain) throw provesNothing ? asAmbiguous(error) : error
      await sleep(pause, signal)
    }
  }
}

/** Errors after which a money call may have been carried out, or may still be. */
const unanswered = new Set(["no_answer", "internal_error", "request_in_progress"])
/** Seldom worth more: the key is wrong. But the second of two copies that a proxy makes of a request is refused so, too. */
const UNAUTHORIZED_ATTEMPTS = 4
/** Refused again however often it is sent, until the payer types another code. */
const NEEDS_PAYER = "otp_incorrect"

const isResendable = (error: GatewayError, kind: CallKind): boolean => {
  if (isOpen(error)) return false
  if (unanswered.has(error.code)) return kind !== "once"
  return error.class === "retriable" && error.code !== NEEDS_PAYER
}

const named = new Set([
  "provider_unavailable",
  "provider_timeout",
  "provider_bad_response",
  "indeterminate_outcome",
  "internal_error",
  "request_in_progress"
])

/** Whether the error names the transaction that the call made: its record is the answer. */
export const isOpen = (error: unknown): error is GatewayError & { readonly reference: string } =>
  error instanceof GatewayError && named.has(error.code) && error.reference !== undefined

/** The same error of a call that may have moved money. */
export const asAmbiguous = (error: GatewayError): GatewayError =>
  error.class === "ambiguous"
    ? error
    : new GatewayError({ ...error, class: "ambiguous", code: "no_answer", message: error.message, cause: error })

export const aborted = (reason: unknown): GatewayError =>
  new GatewayError({ class: "ambiguous", code: "aborted", message: "stopped by its signal", details: {}, cause: reason })

const pauseAfter = (number: number, { retryAfterSeconds = 0 }: GatewayError, retries: Retries): number => {
  const longest = Math.min(retries.longestPauseMs, retries.pauseMs * 2 ** (number - 1))
  return Math.max(retryAfterSeconds * 1000, longest * (0.5 + Math.random() / 2))
}

/** A timer takes no more. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * Does the work with a signal that comes after so long, or with the given one. `AbortSignal.any` is no substitute: Node 20 collects its signal
 * while `fetch` waits for it, and neither the timeout nor the caller ends the call.
 */
export const timed = async <A>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (limited: AbortSignal) => Promise<A>
): Promise<A> => {
  const limit = new AbortController()
  const stop = (): void => limit.abort(signal?.reason)
  const late = (): void => limit.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"))
  const timer = setTimeout(late, Math.min(ms, LONGEST_MS))
  signal?.addEventListener("abort", stop)
  if (signal?.aborted === true) stop()
  try {
    return await work(limit.signal)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener("abort", stop)
  }
}

/** Waits so long, or until the signal. */
export const sleep = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener("abort", done)
    if (signal?.aborted === true) done()
  })

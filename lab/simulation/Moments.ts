import { MINUTE } from "./Movement.ts"

// Where and for how long things are left standing.

/** A client gives up before the lease of its key ends, as the gateway's own deadline does. */
export const PATIENCE_MS = 85_000
export const OVERSLEPT_MS = 100_000
/** Where a request is held in the stories of two that come at once; the fence is behind the second, and few other ways lead there. */
export const HOLDS = [
  "after claim",
  "before open",
  "before open",
  "after open",
  "before money",
  "after money",
  "before apply"
] as const
/** The same for one that says a code. */
export const CODE_HOLDS = ["after begin", "before money", "after money", "before wrong", "after wrong", "before apply"] as const
export const PAUSES = [1_000, 5_000, 20_000, MINUTE, 5 * MINUTE, 30 * MINUTE, 180 * MINUTE] as const
/** After the last answer: past every lease and window, then past the end of the schedule and what comes to light late, and the last events. */
export const CALM_MINUTES = [5, 10, 20, 60, 25 * 60, 60]
/** How long a client waits before it comes back: past an hour's window, and after a few hours past a day's. */
export const NEXT_HOUR = 61
export const NEXT_DAY = 25 * 60
export const HOURS_AT_MOST = 6
export const TRIES_AT_MOST = 60

import { monitorEventLoopDelay } from "node:perf_hooks"
import { Clock, Effect } from "effect"
import type { Family } from "./Family.ts"

const RESOLUTION_MS = 20
/** Every reader sees a delay for one to two of these windows: a read resets nothing. */
const WINDOW_MS = 15_000
const NS_PER_SECOND = 1e9

const percentiles = ["50", "99", "100"] as const
type Lags = { readonly [Q in (typeof percentiles)[number]]: number }
const none: Lags = { "50": 0, "99": 0, "100": 0 }

/** How long this process's event loop was recently blocked, while the scope lives. */
export const eventLoop = Effect.gen(function* () {
  const delays = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
      monitor.enable()
      return monitor
    }),
    (monitor) => Effect.sync(() => monitor.disable())
  )
  let since = yield* Clock.currentTimeMillis
  let before = none
  // Each measured delay includes the sampling interval itself.
  const seconds = (ns: number) => (Number.isFinite(ns) ? Math.max(0, ns / NS_PER_SECOND - RESOLUTION_MS / 1000) : 0)
  const lagsNow = (): Lags =>
    delays.count === 0
      ? none
      : { "50": seconds(delays.percentile(50)), "99": seconds(delays.percentile(99)), "100": seconds(delays.max) }
  return Effect.map(Clock.currentTimeMillis, (now): Family => {
    const lags = lagsNow()
    const samples = percentiles.map((percentile) => [{ percentile }, Math.max(before[percentile], lags[percentile])] as const)
    if (now - since >= WINDOW_MS) {
      before = lags
      since = now
      delays.reset()
    }
    return {
      name: "gateway_event_loop_lag_seconds",
      help: "How long the event loop was held up lately: in the last 15 seconds at least.",
      samples
    }
  })
})

import { monitorEventLoopDelay } from "node:perf_hooks"
import { Effect } from "effect"
import { familyText } from "./Gauges.ts"

const RESOLUTION_MS = 20
const NS_PER_SECOND = 1e9

/** How long this process's event loop was held up since the last question, while the scope lives. */
export const eventLoop = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
      delays.enable()
      return delays
    }),
    (delays) => Effect.sync(() => delays.disable())
  ),
  (delays) =>
    Effect.sync(() => {
      // The sampling itself is part of each delay.
      const seconds = (ns: number) => (Number.isFinite(ns) ? Math.max(0, ns / NS_PER_SECOND - RESOLUTION_MS / 1000) : 0)
      const text = familyText({
        name: "gateway_event_loop_lag_seconds",
        help: "How long the event loop was held up since the scrape before.",
        samples: [
          [{ quantile: "0.5" }, seconds(delays.percentile(50))],
          [{ quantile: "0.99" }, seconds(delays.percentile(99))],
          [{ quantile: "1" }, delays.count === 0 ? 0 : seconds(delays.max)]
        ]
      })
      delays.reset()
      return text
    })
)

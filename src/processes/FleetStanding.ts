import { Effect, Option } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { eventLoop } from "../observability/EventLoop.ts"
import type { Family } from "../observability/Family.ts"
import { familiesText } from "../observability/Gauges.ts"
import { processFamilies } from "../observability/ProcessGauges.ts"
import type { Standing } from "../observability/Standing.ts"
import type { Build } from "../services/Health.ts"
import type { Fleet } from "./Fleet.ts"
import { type MetricsPage, mergedMetrics } from "./MergedMetrics.ts"
import { ofPrimary } from "./Questions.ts"

/** A little more than a worker waits for the database. */
const OBSTACLE_MS = 2_000
const METRICS_MS = 7_000
/** Fewer workers than this share cannot do a node's work. */
const ENOUGH = 0.5

/** The name of the process that has started the others, beside their numbers. */
const PRIMARY = "primary"

/** Null while the workers start. */
type Started = () => Fleet | null

/**
 * How a machine with several workers stands. It is ready while at least half of them take requests, and all of these could serve one: a worker
 * that has gone gets no request, so that the others go on.
 */
export const fleetStanding = Effect.fnUntraced(function* (fleetNow: Started, build: Build) {
  const lag = yield* eventLoop

  const obstacle = Effect.gen(function* () {
    const fleet = fleetNow()
    if (fleet === null) return "the workers are starting"
    if (yield* fleet.draining) return "draining"
    const serving = yield* fleet.serving
    if (serving.length < fleet.workers * ENOUGH) return `${serving.length} of ${fleet.workers} workers take requests`
    const answers = yield* Effect.forEach(
      serving,
      ({ ask, number }) =>
        Effect.map(
          ask(ofPrimary.obstacle, null, OBSTACLE_MS),
          Option.getOrElse(() => `worker ${number} does not answer`)
        ),
      { concurrency: "unbounded" }
    )
    const reasons = new Set(answers.flatMap((reason) => reason?.split("\n") ?? []))
    return reasons.size === 0 ? null : [...reasons].join("\n")
  })

  const metrics = Effect.gen(function* () {
    const fleet = fleetNow()
    const serving = fleet === null ? [] : yield* fleet.serving
    const pages = yield* Effect.forEach(
      serving,
      ({ ask, number }, at) =>
        Effect.map(
          ask(ofPrimary.metrics, at === 0 ? "database" : "nothing", METRICS_MS),
          (page): MetricsPage => ({ worker: String(number), text: Option.getOrElse(page, () => "") })
        ),
      { concurrency: "unbounded" }
    )
    const own = `${yield* PrometheusMetrics.format()}${familiesText([yield* lag, ...processFamilies(build)])}`
    const serves = new Set(serving.map(({ number }) => number))
    return mergedMetrics([
      { worker: PRIMARY, text: own },
      { worker: null, text: fleet === null ? "" : familiesText(workerFamilies(fleet, serves)) },
      ...pages
    ])
  })

  return { obstacle, metrics: () => metrics } satisfies Standing
})

const workerFamilies = ({ restarts }: Fleet, serves: ReadonlySet<number>): ReadonlyArray<Family> => {
  const numbers = [...restarts.keys()].sort((one, other) => one - other)
  return [
    {
      name: "gateway_worker_up",
      help: "1 while this worker process takes requests, else 0.",
      samples: numbers.map((number) => [{ worker: String(number) }, serves.has(number) ? 1 : 0])
    },
    {
      name: "gateway_worker_restarts_total",
      type: "counter",
      help: "How often a worker process ended and another took its place.",
      samples: numbers.map((number) => [{ worker: String(number) }, restarts.get(number) ?? 0])
    }
  ]
}

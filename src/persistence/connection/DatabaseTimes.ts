import { Clock, Effect, Metric } from "effect"

const NANOS_PER_SECOND = 1e9

const commits = Metric.histogram("gateway_database_commit_duration_seconds", {
  description: "How long commits took: of money steps, and of the tries whether the database takes writes.",
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})
const connectionWaits = Metric.histogram("gateway_database_connection_wait_seconds", {
  description: "How long statements waited for a connection of the pool.",
  boundaries: [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

/** Failures are timed as well: a wait that was given up took that long. */
const timedBy =
  (times: Metric.Histogram<number>) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Clock.Clock, (clock) => {
      const from = clock.monotonicTimeNanosUnsafe()
      return Effect.ensuring(
        work,
        Effect.suspend(() => Metric.update(times, Number(clock.monotonicTimeNanosUnsafe() - from) / NANOS_PER_SECOND))
      )
    })

/** For statements that commit, except workers' claims: these commit many times a second and would hide the others. */
export const timedCommit = timedBy(commits)

export const timedWait = timedBy(connectionWaits)

import { Effect, Exit } from "effect"
import { PeriodCounts } from "./ports/PeriodCounts.ts"
import { RouteCounts } from "./ports/RouteCounts.ts"

/** A chart, and what providers are ordered by, is behind by so much, and a process that dies loses as much of it. */
const EVERY = "10 seconds"

/** Writes the counts of this process in their periods, for as long as it runs; those that cannot be written wait for the next time. */
export const periodWriting = Effect.gen(function* () {
  const periods = yield* PeriodCounts
  const routes = yield* RouteCounts
  const attempt = Effect.gen(function* () {
    const exit = yield* Effect.exit(Effect.andThen(periods.write, routes.write))
    if (Exit.isFailure(exit))
      yield* Effect.logWarning("the counts for the charts could not be written: it is tried again", exit.cause)
  })
  return yield* Effect.forever(Effect.delay(attempt, EVERY))
})

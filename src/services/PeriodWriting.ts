import { Effect, Exit } from "effect"
import { PeriodCounts } from "./ports/PeriodCounts.ts"
import { RouteCounts } from "./ports/RouteCounts.ts"

/** How far charts and the ordering of providers lag behind, and how much a process that dies loses. */
const EVERY = "10 seconds"

/** Writes this process's period counts for as long as it runs. Counts that cannot be written are retried the next time. */
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

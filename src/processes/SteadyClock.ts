import { Clock, Effect } from "effect"
import { clockFrom } from "../runtime/ClockFrom.ts"

/** The time of day as it was when this process began, and what has passed since: nobody who sets the clock can make a limit last longer, or end it. */
export const steadyClock: Effect.Effect<Clock.Clock> = Effect.map(Clock.Clock, (machine) => {
  const origin = machine.currentTimeNanosUnsafe() - machine.monotonicTimeNanosUnsafe()
  return clockFrom(machine, () => machine.monotonicTimeNanosUnsafe() + origin)
})

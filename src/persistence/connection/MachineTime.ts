import { hostname, uptime } from "node:os"
import { Clock, Context, Effect } from "effect"
import type { MachineClocks } from "../../domain/ClockDoubt.ts"

const MS_PER_SECOND = 1000

/** The clocks of this machine, by a clock that was not replaced by the database's. */
export const machineTimeBy = (machine: Clock.Clock) => ({
  name: hostname(),
  read: Effect.sync(
    (): MachineClocks => ({ timeOfDay: machine.currentTimeMillisUnsafe(), uptimeMs: Math.round(uptime() * MS_PER_SECOND) })
  )
})

/** The machine's own clocks, independent of the program's clock. */
export const MachineTime = Context.Reference<{ readonly name: string; readonly read: Effect.Effect<MachineClocks> }>(
  "gateway/persistence/MachineTime",
  { defaultValue: () => ({ name: hostname(), read: Effect.flatMap(Clock.Clock, (clock) => machineTimeBy(clock).read) }) }
)

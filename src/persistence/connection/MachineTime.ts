import { hostname, uptime } from "node:os"
import { Clock, Context, Effect } from "effect"
import type { MachineClocks } from "../../domain/ClockDoubt.ts"

const MS_PER_SECOND = 1000

/** The clocks of this machine by that clock of the program's that nobody has put the database's in the place of. */
export const machineTimeBy = (machine: Clock.Clock) => ({
  name: hostname(),
  read: Effect.sync(
    (): MachineClocks => ({ timeOfDay: machine.currentTimeMillisUnsafe(), uptimeMs: Math.round(uptime() * MS_PER_SECOND) })
  )
})

/** What the machine's own clocks say, whatever the program takes for the time. */
export const MachineTime = Context.Reference<{ readonly name: string; readonly read: Effect.Effect<MachineClocks> }>(
  "gateway/persistence/MachineTime",
  { defaultValue: () => ({ name: hostname(), read: Effect.flatMap(Clock.Clock, (clock) => machineTimeBy(clock).read) }) }
)

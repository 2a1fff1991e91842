import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import { instantOf, iso, isoOrNull } from "../domain/Instant.ts"
import { ClockWatch, TYPED_WITHIN_MS } from "../services/ports/ClockWatch.ts"
import { flag, help, MomentText, words } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

const MS_PER_SECOND = 1000

const view = Effect.map(
  Effect.flatMap(ClockWatch, ({ standing }) => standing),
  ({ database, doubt, doubtedAt, machine, trustedUntil }) => ({
    database_time: iso(database),
    machine_time: iso(machine),
    machine_ahead_seconds: (machine - database) / MS_PER_SECOND,
    trusted_until: isoOrNull(trustedUntil),
    doubt,
    doubted_at: isoOrNull(doubtedAt)
  })
)

const show = Command.make("show", {}, () => Effect.flatMap(view, printResult).pipe(Effect.provide(operatorPorts))).pipe(
  help("Show the database's clock beside that of this machine, and why the first is in doubt where it is", [
    "gateway clock show",
    "Compare both clocks with a third one"
  ])
)

const confirm = Command.make(
  "confirm",
  {
    time: flag("time", MomentText, "the right time of UTC, read from a clock that is neither the database's nor this machine's"),
    reason: words("reason", 500, "what had happened, for the audit log")
  },
  Effect.fn(function* ({ reason, time }) {
    const { confirm, standing } = yield* ClockWatch
    const { database, doubt } = yield* standing
    if (doubt === null) return yield* new CommandRefusal("the database's clock is not in doubt")
    const offMs = Option.match(instantOf(time), { onNone: () => Number.NaN, onSome: (right) => database - right })
    const details = { doubt, database_time: iso(database), right_time: time, reason }
    const entry = yield* auditEntry("clock confirm", "database", details)
    if (Math.abs(offMs) <= TYPED_WITHIN_MS && (yield* confirm(database - offMs, entry))) return yield* printResult(yield* view)
    return yield* new CommandRefusal(
      `the database's clock shows ${iso(database)}, more than ${TYPED_WITHIN_MS / MS_PER_SECOND} s from ${time}: correct it first; nothing is removed meanwhile`
    )
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "End a doubt about the database's clock: old rows are removed again by what it shows. Refused where it is not the time that you give",
    [
      'gateway clock confirm --time 2026-01-31T12:00:00Z --reason "the standby\'s clock was set right"',
      "Confirm the clock after it was corrected"
    ]
  )
)

export const clock = Command.make("clock").pipe(
  help("The database's clock, by which old rows are removed while nothing speaks against it"),
  Command.withSubcommands([show, confirm])
)

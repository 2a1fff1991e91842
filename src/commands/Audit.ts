import { Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { iso } from "../domain/Instant.ts"
import { AuditLog } from "../services/ports/AuditLog.ts"
import { answer } from "./Answer.ts"
import { operatorPorts } from "./Installation.ts"
import { Refusal } from "./Refusal.ts"

const ROWS_LISTED = 100
const MOST_ROWS = 10_000

const Limit = Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: MOST_ROWS }))

const list = Command.make(
  "list",
  {
    limit: Flag.String("limit").pipe(
      Flag.withSchema(Limit),
      Flag.withDefault(ROWS_LISTED),
      Flag.withDescription(`at most so many rows, ${ROWS_LISTED} if left out`)
    )
  },
  Effect.fn(function* ({ limit }) {
    const log = yield* AuditLog
    const rows = yield* log.list(limit)
    yield* answer(
      rows.map(({ action, actor, at, details, hash, sequence, subject }) => ({
        sequence,
        at: iso(at),
        actor,
        action,
        subject,
        details,
        hash
      }))
    )
  }, Effect.provide(operatorPorts))
).pipe(Command.withDescription("What operators changed, the newest first"))

const verify = Command.make(
  "verify",
  {},
  Effect.fn(function* () {
    const log = yield* AuditLog
    const { brokenAt, rows } = yield* log.verify
    yield* answer({ ok: brokenAt === null, rows, broken_at: brokenAt })
    if (brokenAt !== null) return yield* new Refusal({ message: `the audit log is broken at row ${brokenAt}` })
  }, Effect.provide(operatorPorts))
).pipe(Command.withDescription("Recompute the hash chain of the audit log; exit 1 where a row was changed or is missing"))

export const audit = Command.make("audit").pipe(
  Command.withDescription("The audit log: one hash-chained row for each change that an operator made"),
  Command.withSubcommands([list, verify])
)

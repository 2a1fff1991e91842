import { Clock, Effect } from "effect"
import { Command } from "effect/cli"
import { GatewayStatus } from "../services/ports/GatewayStatus.ts"
import { LedgerVerification } from "../services/ports/LedgerVerification.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { printResult } from "./Output.ts"

const verify = Command.make(
  "verify",
  {},
  Effect.fn(function* () {
    const audit = yield* LedgerVerification
    const { recordCheck } = yield* GatewayStatus
    const at = yield* Clock.currentTimeMillis
    const report = yield* audit.verify
    yield* recordCheck({ name: "ledger verify", subject: "", at, differences: report.differences.length })
    yield* printResult(report)
    if (!report.ok)
      return yield* new CommandRefusal({
        message: `the ledger has ${report.differences.length} differences: see docs/runbooks/ledger-difference.md`
      })
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription("Recompute every position and record from the postings; exit 1 on any difference"),
  Command.withExamples([{ command: "gateway ledger verify", description: "Check all that is stored; run it daily" }])
)

export const ledger = Command.make("ledger").pipe(
  Command.withDescription("The double-entry ledger"),
  Command.withSubcommands([verify])
)

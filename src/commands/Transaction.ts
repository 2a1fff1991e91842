import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import { isReference } from "../domain/Ids.ts"
import { iso } from "../domain/Instant.ts"
import { recordView } from "../domain/View.ts"
import { Transactions } from "../services/ports/Transactions.ts"
import { reference } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { printResult } from "./Output.ts"

const show = Command.make(
  "show",
  { reference },
  Effect.fn(function* ({ reference }) {
    const transactions = yield* Transactions
    const found = isReference(reference) ? yield* transactions.byReference(reference) : Option.none()
    if (Option.isNone(found))
      return yield* new CommandRefusal({
        message: `there is no transaction ${reference}: give the reference that the gateway answered`
      })
    const { revision, transaction } = found.value
    const history = yield* transactions.history(transaction.reference)
    yield* printResult({
      app_id: transaction.appId,
      ...recordView(transaction),
      revision,
      history: history.map(({ actor, at, fact, note, status }) => ({ at: iso(at), actor, fact, status, note }))
    })
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription("Show one record as its tenant sees it, with its history"),
  Command.withExamples([
    { command: "gateway transaction show AAA688MG9KT6BQ76F4NM4BJRH5", description: "Show what became of a payout" }
  ])
)

export const transaction = Command.make("transaction").pipe(
  Command.withDescription("Payouts, collections and exchanges of every tenant"),
  Command.withSubcommands([show])
)

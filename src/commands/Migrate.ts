import { Effect } from "effect"
import { Command } from "effect/cli"
import * as App from "../App.ts"
import { Installation } from "./Installation.ts"
import { printResult } from "./Output.ts"

export const migrate = Command.make(
  "migrate",
  {},
  Effect.fn(
    function* () {
      yield* printResult({ applied: yield* App.migrate(yield* Installation.forOneCommand) })
    },
    Effect.scoped,
    Effect.provide(App.logs)
  )
).pipe(
  Command.withDescription(
    "Bring the database schema up to this program's version. It needs DATABASE_URL, and MIGRATION_DATABASE_URL where the tables belong to another role"
  ),
  Command.withExamples([{ command: "gateway migrate", description: "Apply what is missing, and list it" }])
)

import { Effect } from "effect"
import { Command } from "effect/cli"
import * as App from "../App.ts"
import { help, isGiven } from "./Arguments.ts"
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
  help(
    "Bring the database schema up to this program's version. It needs DATABASE_URL, and MIGRATION_DATABASE_URL where the tables belong to another role",
    ["gateway migrate", "Apply what is missing, and list it"]
  )
)

export const distribute = Command.make(
  "distribute",
  {
    plan: isGiven("plan", "print the statements that would be run, and run none")
  },
  Effect.fn(
    function* ({ plan }) {
      const settings = yield* Installation.forOneCommand
      const statements = yield* plan ? App.distributionPlan(settings) : App.distribute(settings)
      yield* printResult(
        { [plan ? "missing" : "done"]: statements },
        statements.length === 0 ? ["the database is distributed already: nothing to do"] : statements.map((one) => `${one};`)
      )
    },
    Effect.scoped,
    Effect.provide(App.logs)
  )
).pipe(
  help(
    "Divide the tables of tenants over the workers of a Citus cluster, each tenant on one. It needs the address of the coordinator in DATABASE_URL, or the owner's in MIGRATION_DATABASE_URL, and no gateway may run meanwhile. What is done already is not done again",
    ["gateway distribute --plan", "Print what is missing, and do nothing"]
  )
)

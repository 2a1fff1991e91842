import { Effect } from "effect"
import { Command } from "effect/cli"
import * as App from "../App.ts"
import { answer } from "./Answer.ts"
import { Installation } from "./Installation.ts"

export const migrate = Command.make(
  "migrate",
  {},
  Effect.fn(
    function* () {
      yield* answer({ applied: yield* App.migrate(yield* Installation.forOnce) })
    },
    Effect.scoped,
    Effect.provide(App.logs)
  )
).pipe(Command.withDescription("Bring the database schema up to this program's version"))

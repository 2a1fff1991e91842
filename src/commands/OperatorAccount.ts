import { Effect, Layer } from "effect"
import { Argument, Command } from "effect/cli"
import { iso } from "../domain/Instant.ts"
import { OperatorName, OperatorRole } from "../domain/Operator.ts"
import { Operators } from "../services/ports/Operators.ts"
import { SignIn } from "../services/SignIn.ts"
import { choice, help } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

const accountPorts = Layer.provideMerge(SignIn.layer, operatorPorts)

const name = Argument.String("NAME").pipe(
  Argument.withSchema(OperatorName),
  Argument.withDescription("a person: a letter, then at most 39 of a-z, 0-9, dot, _ and -")
)

const add = Command.make(
  "add",
  {
    name,
    role: choice(
      "role",
      OperatorRole.literals,
      "viewer looks, support also resolves, redelivers and proposes, approver also approves, admin also configures"
    )
  },
  Effect.fn(function* ({ name, role }) {
    yield* printResult(yield* addOperator(name, role))
  }, Effect.provide(accountPorts))
).pipe(
  help("Let a person use the console; the token is shown only once", [
    "gateway operator add asha --role support",
    "Let Asha answer support tickets"
  ])
)

const list = Command.make(
  "list",
  {},
  Effect.fn(function* () {
    const operators = yield* Operators
    yield* printResult((yield* operators.list).map(({ createdAt, name, role }) => ({ name, role, created_at: iso(createdAt) })))
  }, Effect.provide(operatorPorts))
).pipe(help("List the people who may use the console", ["gateway operator list", "List the people of the console"]))

const remove = Command.make(
  "remove",
  { name },
  Effect.fn(function* ({ name }) {
    const operators = yield* Operators
    if (!(yield* operators.remove(name, yield* auditEntry("operator remove", name, {}))))
      return yield* new CommandRefusal(`there is no operator ${name}: gateway operator list shows all of them`)
    yield* printResult({ removed: true })
  }, Effect.provide(operatorPorts))
).pipe(
  help("Take the console away from a person; whoever is logged in under the name is out at once", [
    "gateway operator remove asha",
    "Take the console away from Asha"
  ])
)

export const operator = Command.make("operator").pipe(
  help("People who use the console, each with a role and a token of their own"),
  Command.withSubcommands([add, list, remove])
)

/** Refused when the name is taken. The answer contains the token in clear text, this one time only. */
export const addOperator = Effect.fn("addOperator")(function* (name: OperatorName, role: OperatorRole) {
  const signIn = yield* SignIn
  const operators = yield* Operators
  const { account, token } = yield* signIn.newAccount(name, role)
  if (!(yield* operators.add(account, yield* auditEntry("operator add", name, { role }))))
    return yield* new CommandRefusal(`there is an operator ${name} already: remove it first, or take another name`)
  return { name, role, token }
})

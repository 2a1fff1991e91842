import { Cause, Effect, Exit, Option } from "effect"
import { CliConfig, type CliError, CliOutput, Command, GlobalFlag } from "effect/cli"
import * as App from "../App.ts"
import { help } from "./Arguments.ts"
import { audit } from "./Audit.ts"
import { clock } from "./Clock.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { corridor } from "./Corridor.ts"
import { demo } from "./Demo.ts"
import { block, screening } from "./Denylist.ts"
import { fees } from "./Fees.ts"
import { float } from "./Float.ts"
import { inbox } from "./Inbox.ts"
import { Installation } from "./Installation.ts"
import { key } from "./Key.ts"
import { ledger } from "./Ledger.ts"
import { ceiling, limit } from "./Limit.ts"
import { distribute, migrate } from "./Migrate.ts"
import { operator } from "./OperatorAccount.ts"
import { AsJson, printErrors } from "./Output.ts"
import { provider } from "./Provider.ts"
import { reconcile } from "./Reconcile.ts"
import { review } from "./Review.ts"
import { secrets } from "./Secrets.ts"
import { sender } from "./Sender.ts"
import { serve } from "./Serve.ts"
import { signCommand } from "./Sign.ts"
import { simulator } from "./Simulator.ts"
import { StandardStreams } from "./StandardStreams.ts"
import { start } from "./Start.ts"
import { status } from "./Status.ts"
import { tenant } from "./Tenant.ts"
import { transaction } from "./Transaction.ts"
import { webhook } from "./Webhook.ts"

/** The exit codes. A command that a signal interrupted ends with the shells' code for an interrupt. */
const exitCodes = { done: 0, refused: 1, wrongUsage: 2, interrupted: 130 } as const

export const gateway = Command.make("gateway").pipe(
  help("The payment gateway: servers and operators' commands. A tenant's are login, payout, collection, listen and trigger"),
  Command.withSubcommands([
    start,
    demo,
    serve,
    simulator,
    migrate,
    distribute,
    status,
    tenant,
    sender,
    key,
    float,
    corridor,
    transaction,
    webhook,
    inbox,
    limit,
    ceiling,
    block,
    screening,
    ledger,
    provider,
    fees,
    reconcile,
    review,
    audit,
    clock,
    operator,
    secrets,
    signCommand
  ]),
  Command.withGlobalFlags([AsJson])
)

const RESULTS_LOST =
  "standard output did not take the whole result, as on a full disk: what the command changed is changed, and what was written of its result is of no use"

/** Runs one command line and returns its exit code; errors have been printed on standard error by then. */
export const program = (args: ReadonlyArray<string>): Effect.Effect<number, never, Command.Environment> =>
  Installation.release.pipe(
    Effect.flatMap((version) => Command.runWith(gateway, { version })(isKnown(gateway, args) ? args : withoutHelp(args))),
    Effect.andThen(Effect.suspend(() => (StandardStreams.areResultsLost() ? new CommandRefusal(RESULTS_LOST) : Effect.void))),
    Effect.as<number>(exitCodes.done),
    Effect.catchTag("ShowHelp", () => Effect.succeed(exitCodes.wrongUsage)),
    Effect.catchTag("WrongUsage", ({ message }) => Effect.as(printErrors(message), exitCodes.wrongUsage)),
    Effect.catchTag("InvalidSettings", ({ mistakes }) => Effect.as(printErrors(...mistakes), exitCodes.refused)),
    Effect.catch(({ message }) => Effect.as(printErrors(message), exitCodes.refused)),
    Effect.catchCause((cause) =>
      Cause.hasInterrupts(cause) ? Effect.failCause(cause) : Effect.as(printErrors(...wordsOf(cause)), exitCodes.refused)
    ),
    Effect.provideService(CliOutput.Presenter, presenter),
    Effect.provideService(CliConfig.CliConfig, CliConfig.make({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] }))
  )

/** Ends the process. A server that was stopped by a signal has done its job, and has set `process.exitCode` accordingly. */
export const teardown = <A, E>(exit: Exit.Exit<A, E>, exitWith: (code: number) => void): void => {
  // Output that a slow reader has not yet read would be lost with the process.
  const end = (code: number) => {
    const leave = () => StandardStreams.afterErrors(() => exitWith(code))
    if (process.stdout.writableLength === 0) leave()
    else process.stdout.write("", leave)
  }
  if (Exit.isSuccess(exit)) return void end(typeof exit.value === "number" ? exit.value : exitCodes.done)
  const code = process.exitCode ?? (Cause.hasInterruptsOnly(exit.cause) ? exitCodes.interrupted : exitCodes.refused)
  end(Number(code))
}

/** Standard output is only for results: usage errors, and the help that comes with them, go to standard error. */
const presenter: CliOutput.Presenter = {
  present: Effect.fnUntraced(function* (event) {
    if (event._tag === "Version" || (event._tag === "Help" && event.reason === "Requested")) {
      return yield* CliOutput.defaultPresenter.present(event)
    }
    const formatter = CliOutput.defaultFormatter({ colors: false })
    if (event._tag === "Help") return yield* printErrors(...formatter.formatHelpDoc(event.helpDoc).split("\n"))
    const [first] = event.errors
    yield* printErrors(...messagesOf(event.errors, first))
    yield* printErrors(`See: ${event.commandPath.join(" ")} --help`)
  })
}

const messagesOf = (
  errors: ReadonlyArray<CliError.NonShowHelpErrors>,
  first: CliError.NonShowHelpErrors | undefined
): ReadonlyArray<string> =>
  first === undefined ? ["wrong usage"] : errors.flatMap((error) => [oneLine(error.message), ...insteadOf(error)])

/** The replacement of an option that an earlier release had. */
const insteadOf = (error: CliError.NonShowHelpErrors): ReadonlyArray<string> =>
  error._tag === "UnrecognizedOption" && error.option === "--workers"
    ? ["a gateway is one process: run several behind HAProxy (docs/operations/machines.md, Several processes on one machine)"]
    : []

/** A damaged file or a database that takes no writes is no bug of the program, and a stack trace would not help. */
const wordsOf = (cause: Cause.Cause<never>): ReadonlyArray<string> =>
  Option.match(App.databaseFailure(cause), {
    onNone: () => indentFurther(Cause.pretty(cause)),
    onSome: (said) => [`${said}: see docs/runbooks/database-down.md`]
  })

/** The further lines of an unforeseen error are indented under its first. */
const indentFurther = (text: string): ReadonlyArray<string> => text.split("\n").map((line, at) => (at === 0 ? line : `  ${line}`))

const oneLine = (message: string): string =>
  message.replace("Expected: Schema validation failed: Expected", "Expected:").replace(/\s*\n\s*/g, " ")

/** Whether the arguments begin with the name of an existing command; those after its name are the command's own. */
const isKnown = (command: Command.Command.Any, args: ReadonlyArray<string>): boolean => {
  const children = command.subcommands.flatMap(({ commands }) => commands)
  const at = args.findIndex((arg) => !arg.startsWith("-"))
  if (children.length === 0 || at === -1) return true
  const child = children.find(({ name }) => name === args[at])
  return child !== undefined && isKnown(child, args.slice(at + 1))
}

/** The parser shows the parent's help for a command that does not exist, and would call that a success. */
const withoutHelp = (args: ReadonlyArray<string>): ReadonlyArray<string> => args.filter((arg) => arg !== "--help" && arg !== "-h")

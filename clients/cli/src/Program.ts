import { createRequire } from "node:module"
import type { Command } from "./CommandLine.ts"
import { listen } from "./Listen.ts"
import { login } from "./Login.ts"
import { payoutRun } from "./PayoutRun.ts"
import { Refusal, Unfinished, WrongUsage } from "./Refusal.ts"
import { Screen, type Terminal } from "./Screen.ts"
import { transactionCommands } from "./Transactions.ts"
import { trigger } from "./Trigger.ts"

export const commands: ReadonlyArray<Command> = [login, ...transactionCommands, payoutRun, listen, trigger]

/** What the process ends with. Stopped by a signal before it was done, a command ends with what shells call an interrupt. */
const exitCodes = { done: 0, refused: 1, wrongUsage: 2, unfinished: 3, interrupted: 130 } as const

/** Runs one command line, and answers its exit code. */
export const run = async (args: ReadonlyArray<string>, terminal: Terminal): Promise<number> => {
  const screen = new Screen(terminal, args.includes("--json"))
  try {
    await execute(
      args.filter((word) => word !== "--json"),
      screen
    )
    return exitCodes.done
  } catch (error) {
    if (error instanceof WrongUsage || error instanceof Refusal) screen.note(error.message)
    if (terminal.signal.aborted) return exitCodes.interrupted
    if (error instanceof WrongUsage) return exitCodes.wrongUsage
    if (error instanceof Unfinished) return exitCodes.unfinished
    if (!(error instanceof Refusal)) screen.note(error instanceof Error ? (error.stack ?? error.message) : String(error))
    return exitCodes.refused
  }
}

const execute = async (words: ReadonlyArray<string>, screen: Screen): Promise<void> => {
  const isName = (word: string): boolean => !word.startsWith("-")
  const wantsHelp = words.includes("--help") || words.includes("-h")
  const first = words.find(isName)
  const group = commands.filter(({ name }) => name.split(" ")[0] === first)
  const isPair = group.some(({ name }) => name.includes(" "))
  const rest = words.toSpliced(first === undefined ? words.length : words.indexOf(first), 1)
  const second = isPair ? rest.find(isName) : undefined
  const found = isPair ? group.filter(({ name }) => name.endsWith(` ${second}`)) : group
  const [command] = found
  if (wantsHelp && second === undefined && (first === undefined || isPair)) return overview(screen, isPair ? group : commands)
  if (first === undefined && words.includes("--version")) return screen.terminal.out(version())
  if (command === undefined) {
    const names = (isPair ? group : commands).map(({ name }) => name).join(", ")
    const wrong = [first, second].filter((word) => word !== undefined).join(" ")
    throw new WrongUsage(`${wrong === "" ? "give a command" : `there is no command ${wrong}`}: ${names}`)
  }
  if (wantsHelp) return command.help.split("\n").forEach((line) => screen.line(line))
  await command.run(second === undefined ? rest : rest.toSpliced(rest.indexOf(second), 1), screen)
}

const overview = (screen: Screen, shown: ReadonlyArray<Command>): void => {
  for (const { description, name } of shown) screen.line(`gateway ${name.padEnd(22)}${description}`)
  screen.line("")
  screen.line("gateway COMMAND --help says more of each.")
}

const version = (): string => {
  const manifest: { readonly version: string } = createRequire(import.meta.url)("#package")
  return manifest.version
}

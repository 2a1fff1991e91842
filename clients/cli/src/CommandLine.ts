import { type ParseArgsConfig, parseArgs } from "node:util"
import { WrongUsage } from "./Refusal.ts"
import type { Screen } from "./Screen.ts"

/** An option of a command. */
interface Option {
  readonly type: "string" | "boolean"
  readonly description: string
  readonly choices?: ReadonlyArray<string>
  readonly pattern?: RegExp
}
type Options = Readonly<Record<string, Option>>

/** Of a switch whether it was given, and of every other option its text. */
type Given<O extends Options> = {
  readonly [Name in keyof O]: O[Name]["type"] extends "boolean" ? boolean : string | undefined
}

/** An option with a value, of which `description` says what it may be. */
export const text = (description: string, pattern?: RegExp) =>
  ({ type: "string", description, ...(pattern === undefined ? {} : { pattern }) }) as const

export const choice = (description: string, choices: ReadonlyArray<string>) => ({ type: "string", description, choices }) as const

export const toggle = (description: string) => ({ type: "boolean", description }) as const

interface Description<O extends Options> {
  readonly name: string
  readonly description: string
  /** What follows the name. */
  readonly argument?: {
    readonly name: string
    readonly description: string
    readonly pattern?: RegExp
    /** True: its command says itself when it is needed. */
    readonly isOptional?: true
  }
  readonly options: O
  readonly examples: ReadonlyArray<string>
  readonly run: (given: Given<O>, screen: Screen, argument: string) => Promise<void>
}

export interface Command {
  /** One word, or two. */
  readonly name: string
  readonly description: string
  readonly help: string
  readonly run: (words: ReadonlyArray<string>, screen: Screen) => Promise<void>
}

export const command = <O extends Options>(described: Description<O>): Command => ({
  name: described.name,
  description: described.description,
  help: helpOf(described),
  run: (words, screen) => {
    const { argument, given } = read(described, words)
    return described.run(given, screen, argument)
  }
})

const read = <O extends Options>({ argument, name, options }: Description<O>, words: ReadonlyArray<string>) => {
  const { positionals, values } = split(name, { args: [...words], options, allowPositionals: true })
  const wrong = (reason: string) => new WrongUsage(`${reason}; see gateway ${name} --help`)
  const [first = "", ...more] = argument === undefined ? ["", ...positionals] : positionals
  if (argument !== undefined && ((first === "" && argument.isOptional !== true) || argument.pattern?.test(first) === false))
    throw wrong(`give ${argument.name}: ${argument.description}`)
  if (more.length > 0) throw wrong(`${more.join(" ")} is too much`)
  const given = Object.entries(options).map(([option, { choices, description, pattern, type }]) => {
    const value = values[option]
    if (typeof value === "string" && (pattern?.test(value) === false || choices?.includes(value) === false))
      throw wrong(`--${option}: ${description}${choices === undefined ? "" : `: ${choices.join(", ")}`}`)
    return [option, type === "boolean" ? value === true : value]
  })
  return { argument: first, given: Object.fromEntries(given) as Given<O> }
}

const split = (name: string, config: ParseArgsConfig) => {
  try {
    return parseArgs(config)
  } catch (cause) {
    const [reason = ""] = cause instanceof Error ? cause.message.split("\n") : []
    throw new WrongUsage(`${reason}; see gateway ${name} --help`)
  }
}

const WIDTH = 100

const helpOf = ({ argument, description, examples, name, options }: Omit<Description<Options>, "run">): string => {
  const json: Option = toggle("print one JSON document on standard output")
  const entries = Object.entries({ ...options, json })
  const named = entries.map(([option, { choices, description, type }]): readonly [string, string] => [
    `--${option}${type === "boolean" ? "" : choices === undefined ? " TEXT" : ` ${choices.join("|")}`}`,
    description
  ])
  const rows = argument === undefined ? named : [[argument.name, argument.description] as const, ...named]
  return [
    `gateway ${name}${argument === undefined ? "" : ` ${argument.name}`} [OPTIONS]`,
    "",
    ...wrapped(`${description}.`, ""),
    "",
    ...rows.flatMap(([option, about]) => [`  ${option}`, ...wrapped(about, "      ")]),
    "",
    ...examples.map((example) => `  ${example}`)
  ].join("\n")
}

const wrapped = (words: string, indent: string): ReadonlyArray<string> =>
  words.match(new RegExp(`\\S.{0,${WIDTH - indent.length}}(?= |$)`, "g"))?.map((line) => `${indent}${line.trim()}`) ?? []

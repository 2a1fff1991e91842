import { resolve } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag, type HelpDoc } from "effect/cli"
import { commands } from "../../clients/cli/src/Program.ts"
import { gateway } from "../../src/commands/Program.ts"
import { read } from "./Pages.ts"

const PAGE = "docs/commands.md"
const file = resolve(import.meta.dirname, "..", "..", PAGE)
/** Everything below this line comes from the command line's own help; everything above it is written by hand. */
const MARKER = "<!-- From here on written by: npm test -- test/documents.test.ts -u -->"
const LINE_LENGTH = 120
/** More choices than these are listed below the command and not in its line. */
const CHOICES_IN_LINE = 4
/** What so many commands take alike is explained once. */
const SHARED_BY = 3

interface Help {
  readonly words: ReadonlyArray<string>
  readonly doc: HelpDoc.HelpDoc
}

interface Parameter {
  /** As it stands in the command's line. */
  readonly usage: string
  readonly explained: string
}

/** The help of a command, as the parser makes it. */
const helpOf = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
  const docs: Array<HelpDoc.HelpDoc> = []
  const present = (event: CliOutput.Presenter.Event) =>
    Effect.sync(() => void (event._tag === "Help" && docs.push(event.helpDoc)))
  yield* Command.runWith(gateway, { version: "" })([...words, "--help"]).pipe(
    Effect.provideService(CliOutput.Presenter, { present }),
    Effect.provideService(CliConfig.CliConfig, CliConfig.make({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] }))
  )
  return docs.map((doc): Help => ({ words, doc }))
})

const pathsBelow = (command: Command.Command.Any, words: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  command.subcommands
    .flatMap(({ commands }) => commands)
    .flatMap((child) => [[...words, child.name], ...pathsBelow(child, [...words, child.name])])

/** The parser writes the choices at the end of a description. */
const parameter = (name: string, type: string, required: boolean, description: string): Parameter => {
  const [, text = description, list = ""] = /^(.*) \(choices: (.+)\)$/s.exec(description) ?? []
  const choices = list === "" ? [] : list.split(", ")
  const value =
    choices.length > 0 && choices.length <= CHOICES_IN_LINE ? choices.join("|") : type === "string" ? "TEXT" : type.toUpperCase()
  const usage = name.startsWith("--") ? (type === "boolean" ? name : `${name} ${value}`) : name
  const named = choices.length > CHOICES_IN_LINE || (choices.length > 0 && !name.startsWith("--"))
  const explained = `\`${name}\`: ${text}${named ? `: ${choices.join(", ")}` : ""}`
  return { usage: required ? usage : `[${usage}]`, explained }
}

const parametersOf = ({ args = [], flags }: HelpDoc.HelpDoc): ReadonlyArray<Parameter> => [
  ...args.map(({ description, name, required, type }) =>
    parameter(
      name,
      type,
      required,
      Option.getOrElse(description, () => "")
    )
  ),
  ...flags.map(({ description, name, required, type }) =>
    parameter(
      `--${name}`,
      type,
      required,
      Option.getOrElse(description, () => "")
    )
  )
]

const wrapped = (text: string, indent: string): string => {
  const lines = [""]
  // Code is not broken.
  for (const word of text.match(/(?:`[^`]*`|\S)+/g) ?? []) {
    const last = lines.at(-1) ?? ""
    if (last !== "" && last.length + word.length + 1 > LINE_LENGTH - indent.length) lines.push(word)
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`
  }
  return lines.map((line, at) => (at === 0 ? line : `${indent}${line}`)).join("\n")
}

const commandText = ({ doc, words }: Help, shared: ReadonlySet<string>): string => {
  const parameters = parametersOf(doc)
  const line = ["gateway", ...words, ...parameters.map(({ usage }) => usage)].join(" ")
  const explained = parameters.filter((one) => !shared.has(one.explained)).map((one) => `- ${wrapped(one.explained, "  ")}`)
  const list = explained.length === 0 ? "" : `\n\n${explained.join("\n")}`
  const examples = (doc.examples ?? [])
    .filter(({ command }) => command !== line)
    .map(({ command }) => `\n\nFor example \`${command}\`.`)
    .join("")
  return `\`\`\`text\n${line.replaceAll(/(.{60,110}?) (?=\[?--)/g, "$1\n  ")}\n\`\`\`\n\n${wrapped(`${doc.description}.`, "")}${list}${examples}\n`
}

const written = Effect.gen(function* () {
  const helps = (yield* Effect.forEach([[], ...pathsBelow(gateway, [])], helpOf)).flat()
  const explained = helps.flatMap(({ doc }) => parametersOf(doc).map((one) => one.explained))
  const shared = new Set(explained.filter((one) => explained.filter((other) => other === one).length >= SHARED_BY))
  const everywhere = (helps[0]?.doc.globalFlags ?? []).map(({ description, name }) =>
    parameter(
      `--${name}`,
      "boolean",
      false,
      Option.getOrElse(description, () => "")
    )
  )
  const list = [...everywhere.map((one) => one.explained), ...shared].map((one) => `- ${wrapped(one, "  ")}`)
  const text = helps
    .filter(({ words }) => words.length > 0)
    .map((help) => {
      const heading = help.words.length === 1 ? `## ${help.words[0]}\n\n` : ""
      const isGroup = (help.doc.subcommands ?? []).length > 0
      return heading + (isGroup ? `${wrapped(`${help.doc.description}.`, "")}\n` : commandText(help, shared))
    })
  return `${MARKER}\n\n## What many commands take\n\n${list.join("\n")}\n\n${text.join("\n")}`
}).pipe(Effect.provide(NodeServices.layer))

describe(PAGE, () => {
  it.effect("has an example of every command", () =>
    Effect.gen(function* () {
      const helps = (yield* Effect.forEach(pathsBelow(gateway, []), helpOf)).flat()
      const without = helps.filter(({ doc }) => (doc.subcommands ?? []).length === 0 && (doc.examples ?? []).length === 0)
      expect(without.map(({ words }) => words.join(" "))).toEqual([])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("has every command, argument and flag as the command line's help says (`-u` writes the page again)", () =>
    Effect.gen(function* () {
      const [byHand = ""] = read(PAGE).split(MARKER)
      yield* Effect.promise(async () => expect(byHand + (await Effect.runPromise(written))).toMatchFileSnapshot(file))
    })
  )
})

const TENANTS_PAGE = "clients/cli/README.md"

describe(TENANTS_PAGE, () => {
  it("has the help of every command (`-u` writes the page again)", async () => {
    const [byHand = ""] = read(TENANTS_PAGE).split(MARKER)
    const helps = commands.map(({ help, name }) => `\n## ${name}\n\n\`\`\`text\n${help}\n\`\`\`\n`)
    const page = resolve(import.meta.dirname, "..", "..", TENANTS_PAGE)
    await expect(`${byHand}${MARKER}\n${helps.join("")}`).toMatchFileSnapshot(page)
  })

  it("has every command that the program leaves to that package", () => {
    const words = [...new Set(commands.map(({ name }) => name.split(" ")[0] ?? ""))]
    const [, list = ""] = /const tenantCommands = \[(.*)\]/.exec(read("src/gateway.js")) ?? []
    expect(JSON.parse(`[${list}]`).toSorted()).toEqual(words.toSorted())
  })
})

import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Environment, settings } from "../../src/Config.ts"
import { knownProviders } from "../../src/providers/Registry.ts"
import { found, read } from "./Pages.ts"

/** The rows of a page of questions: what to ask, what is done until then, and what the answer changes. */
const questionsOf = (provider: string): ReadonlyArray<ReadonlyArray<string>> =>
  read(`docs/going-live/${provider}.md`)
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (?:Ask|---) \|/.test(line))
    .map((line) => line.slice(2, -2).split(" | "))

const codeIn = (cell: string): ReadonlyArray<string> => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code)

/** No document of a provider answers these for our own account. */
const everywhere = {
  fees: /\b(?:fees?|cost)\b/,
  pace: /calls? a second/,
  limits: /limits?\b/,
  reversals: /reversed|came back|comes back|refund/
}

/** Of accounts that end at a border, each knows one of them. */
const countries = ["UG", "CI"]

/** The names that the program looks up for one provider's account. */
const settingsOf = Effect.fnUntraced(function* (provider: string) {
  const read = yield* Effect.forEach(countries, (country) => settingsIn(provider, country))
  return new Set(read.flatMap((names) => [...names]))
})

const settingsIn = Effect.fnUntraced(function* (provider: string, country: string) {
  const names = new Set<string>()
  // Of a live account every part is set, with one value for all of them: the optional ones are mistakes, and are read all the same.
  const given = (name: string) =>
    name.endsWith("_BASE_URL") ? "https://provider.example" : name.includes("_LIVE_") ? `${country}:x` : undefined
  const watched = new Proxy<Record<string, string>>(
    {},
    {
      get: (_, name) => {
        names.add(String(name))
        return String(name).startsWith(provider.toUpperCase()) ? given(String(name)) : undefined
      }
    }
  )
  yield* Effect.exit(Effect.provideService(settings, Environment, watched))
  return names
})

describe("the questions before going live", () => {
  for (const { name } of knownProviders) {
    const questions = questionsOf(name)

    it(`${name}: each says what is done until it is answered and what the answer changes, once`, () => {
      expect(questions.length).toBeGreaterThan(8)
      expect(questions.filter((cells) => cells.length !== 3 || cells.some((cell) => cell.trim() === ""))).toEqual([])
      expect(questions.filter(([asked = ""]) => !asked.includes("?"))).toEqual([])
      expect(new Set(questions.map(([asked]) => asked)).size).toBe(questions.length)
      const asked = questions.map(([first]) => first).join("\n")
      expect(Object.entries(everywhere).flatMap(([about, words]) => (words.test(asked) ? [] : [about]))).toEqual([])
    })

    it.effect(`${name}: names settings that the program reads, and tables and commands that it has`, () =>
      Effect.gen(function* () {
        const known = yield* settingsOf(name)
        const changed = questions.flatMap(([, until = "", change = ""]) => [...codeIn(until), ...codeIn(change)])
        const named = changed.filter((code) => /^[A-Z]+_[A-Z_]+$/.test(code) && code.startsWith(name.toUpperCase()))
        expect(named.length).toBeGreaterThan(0)
        expect(named.filter((setting) => !known.has(setting))).toEqual([])
        const sources = found(`src/providers/${name}/*.ts`).concat(found("src/domain/*.ts"), found("src/providers/*.ts"))
        const absent = questions.flatMap(([, , change = ""]) =>
          [...change.matchAll(/((?:`\w+`(?:, | and )?)+) in `(\w+\.ts)`/g)].flatMap(([, words = "", file = ""]) => {
            const text = sources
              .filter((path) => path.endsWith(`/${file}`))
              .map(read)
              .join("\n")
            return codeIn(words)
              .filter((word) => !text.includes(word))
              .map((word) => `${word} in ${file}`)
          })
        )
        expect(absent).toEqual([])
        const commands = read("docs/commands.md")
        const called = changed.flatMap(
          (code) => /^(?:gateway )?((?:review|corridor|ceiling|sender|tenant|provider|fees) [a-z]+)/.exec(code)?.[1] ?? []
        )
        expect(called.filter((command) => !commands.includes(`gateway ${command}`))).toEqual([])
      })
    )
  }
})

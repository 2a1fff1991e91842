import { globSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..", "..")
/** So many words in a row say whose a text is. */
const WORDS = 4
/** Statements that tests put together from parts, so that nobody's source has their words in a row. */
const PUT_TOGETHER_BY_TESTS = [/^UPDATE api_keys SET revoked_at = \S+$/, /^SELECT 'keys' AS name, json_build_array/]

/** Tests send statements on the gateway's connections, too: whose one is, its words say, and in doubt it is the gateway's. */
export const isOfTheGateway = (): ((statement: string) => boolean) => {
  const [own, tests] = [sources("src"), [...sources("test"), ...sources("lab")]]
  const [ownRows, testRows] = [own, tests].map((texts) => new Set(texts.flatMap(wordRowsOf)))
  const [ownWords, testWords] = [own, tests].map((texts) => texts.map(spaced).join(" "))
  return (statement) => {
    const text = spaced(statement)
    if (PUT_TOGETHER_BY_TESTS.some((pattern) => pattern.test(text))) return false
    const rows = wordRowsOf(statement)
    const difference = rows.filter((row) => ownRows?.has(row)).length - rows.filter((row) => testRows?.has(row)).length
    if (difference !== 0) return difference > 0
    const [longest = ""] = text.split(/\$\d+/).toSorted((a, b) => b.length - a.length)
    return ownWords?.includes(longest.trim()) === true || testWords?.includes(longest.trim()) !== true
  }
}

const spaced = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

/** Parameters, and what stands in their places in the source, are no words. A text ends on its line: comments have apostrophes. */
const wordRowsOf = (text: string): ReadonlyArray<string> => {
  const words = text.replaceAll(/\$\{[^{}]*\}|\$\d+|'[^'\n]*'/g, " ").match(/\w+/g) ?? []
  return words.slice(WORDS - 1).map((_, at) => words.slice(at, at + WORDS).join(" "))
}

const sources = (folder: string): ReadonlyArray<string> =>
  globSync("**/*.ts", { cwd: join(root, folder) })
    // Rules are shown on statements that break them, and faults are planted in copies of the gateway's.
    .filter((file) => !/^(citus|planted)\//.test(file))
    .map((file) => readFileSync(join(root, folder, file), "utf8"))

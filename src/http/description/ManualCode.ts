import { escaped } from "./ManualLook.ts"

// Examples as HTML: highlighted code, and responses with one member per line.

const C_COMMENTS = String.raw`\/\/.*|\/\*[^]*?\*\/`
const QUOTED = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`
const SCRIPT =
  "const let function return if else for while of in new throw try catch import export from async await type interface class readonly null undefined true false typeof switch case break default"

/** The comments, strings and keywords of a language. */
const languages: Readonly<Record<string, { readonly comment: string; readonly text: string; readonly words: string }>> = {
  python: {
    comment: "#.*",
    text: String.raw`"""[^]*?"""|[bfr]?(?:${QUOTED})`,
    words:
      "def class return if elif else for while in not and or import from as with try except raise None True False lambda pass break continue yield is"
  },
  php: {
    comment: `#.*|${C_COMMENTS}`,
    text: QUOTED,
    words:
      "function class return if else foreach for while new throw try catch extends use namespace require public private static fn null true false echo as"
  },
  ts: { comment: C_COMMENTS, text: `${QUOTED}|\`[^\`]*\``, words: SCRIPT },
  js: { comment: C_COMMENTS, text: `${QUOTED}|\`[^\`]*\``, words: SCRIPT },
  go: {
    comment: C_COMMENTS,
    text: `${QUOTED}|\`[^\`]*\``,
    words: "func package import return if else for range var const type struct map nil true false defer switch case break"
  },
  java: {
    comment: C_COMMENTS,
    text: QUOTED,
    words:
      "class public private static final return if else for while new throw throws try catch import package void var null true false record int long boolean byte"
  },
  sh: {
    comment: String.raw`(?<![^\s])#.*`,
    text: String.raw`"(?:[^"\\]|\\.)*"|'[^']*'`,
    words: "if then else fi for in do done until while export"
  },
  sql: {
    comment: "--.*",
    text: "'[^']*'",
    words: "SELECT FROM WHERE AND OR ORDER BY INSERT INTO VALUES UPDATE SET CREATE TABLE ON CONFLICT"
  },
  json: { comment: "(?!)", text: String.raw`"(?:[^"\\]|\\.)*"`, words: "true false null" }
}

const patterns = new Map(
  Object.entries(languages).map(([name, { comment, text, words }]) => [
    name,
    new RegExp(`(?<c>${comment})|(?<s>${text})|\\b(?:(?<n>\\d[\\d_.]*)|(?<k>${words.replaceAll(" ", "|")}))\\b`, "g")
  ])
)

/** The example's text as HTML; in an unknown language it is not highlighted. */
export const coloured = (language: string, text: string): string => {
  const pattern = patterns.get(language)
  if (pattern === undefined) return escaped(text)
  let [html, end] = ["", 0]
  for (const { 0: found, groups = {}, index } of text.matchAll(pattern)) {
    const kind = Object.keys(groups).find((name) => groups[name] !== undefined) ?? "s"
    const isName = language === "json" && kind === "s" && /^\s*:/.test(text.slice(index + found.length))
    html += `${escaped(text.slice(end, index))}<span class="${isName ? "p" : kind}">${escaped(found)}</span>`
    end = index + found.length
  }
  return html + escaped(text.slice(end))
}

/** In characters: shorter values stay on one line. */
const LINE = 76

/** JSON with one member per line, every number and string as it was written. Text that is not JSON is unchanged. */
export const indented = (text: string): string => {
  try {
    JSON.parse(text)
  } catch {
    return text
  }
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? []
  let at = 0
  const next = (): string => tokens[at++] ?? ""
  const value = (indent: string): string => {
    const first = next()
    if (first !== "{" && first !== "[") return first
    const items: Array<string> = []
    const inner = `${indent}  `
    while (at < tokens.length && !/^[}\]]$/.test(tokens[at] ?? "")) {
      const name = first === "{" ? `${next()}${next()} ` : ""
      items.push(`${name}${value(inner)}`)
      if (tokens[at] === ",") at += 1
    }
    const last = next()
    const short = `${first}${items.join(", ")}${last}`
    if (!short.includes("\n") && indent.length + short.length <= LINE) return short
    return `${first}\n${items.map((item) => `${inner}${item}`).join(",\n")}\n${indent}${last}`
  }
  return value("")
}

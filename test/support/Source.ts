import { readdirSync, readFileSync } from "node:fs"
import { join, posix, resolve, sep } from "node:path"
import { parseAst } from "vitest/node"

/** A node of the syntax tree (ESTree with TypeScript's nodes): only what the rules look at. */
export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** A file of the project as the architecture's rules see it. */
export class Source {
  /** From the project's root, with `/`. */
  readonly path: string
  readonly text: string
  #nodes: ReadonlyMap<string, ReadonlyArray<SyntaxNode>> | undefined

  constructor(path: string, text: string) {
    this.path = path
    this.text = text
  }

  at(offset: number): string {
    return `${this.path}:${this.text.slice(0, offset).split("\n").length}`
  }

  /** Read when it is first asked for: most rules look at some files only. */
  find(type: string): ReadonlyArray<SyntaxNode> {
    this.#nodes ??= this.path.endsWith(".ts") ? byType(parseAst(this.text, { lang: "ts" }, this.path)) : new Map()
    return this.#nodes.get(type) ?? []
  }

  matches(pattern: RegExp): ReadonlyArray<string> {
    return [...this.text.matchAll(new RegExp(pattern, "gm"))].map((match) => `${this.at(match.index)} ${match[0].trim()}`)
  }

  /** What is imported or re-exported, statically or not: a package's name, or a path from the project's root. A type is not loaded. */
  get imports(): ReadonlyArray<{ readonly name: string; readonly offset: number; readonly isLoaded: boolean }> {
    return loading
      .flatMap((type) => this.find(type))
      .flatMap((node) => {
        const isLoaded = node.type.endsWith("Declaration") && node["importKind"] !== "type" && node["exportKind"] !== "type"
        const source = node["source"]
        if (!isNode(source) || typeof source["value"] !== "string") return []
        const name = source["value"]
        return [{ name: name.startsWith(".") ? posix.join(posix.dirname(this.path), name) : name, offset: node.start, isLoaded }]
      })
  }

  /** `a.b` for every use of a member of a plain name. */
  get members(): ReadonlyArray<{ readonly name: string; readonly offset: number }> {
    return this.find("MemberExpression").flatMap(({ object, property, start }) =>
      isNode(object) && isNode(property) && typeof object["name"] === "string" && typeof property["name"] === "string"
        ? [{ name: `${object["name"]}.${property["name"]}`, offset: start }]
        : []
    )
  }
}

const root = resolve(import.meta.dirname, "..", "..")
const folders = ["src", "test", "lab", "bench", "docs", "deploy", "clients", ".ci"]
const files = [
  "package.json",
  "package-lock.json",
  "README.md",
  "SECURITY.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ".editorconfig",
  ".gitignore",
  "tsconfig.json",
  "biome.json",
  ".oxlintrc.json",
  "vitest.config.ts"
]

/** Every file that we wrote, and the lock file. */
export const readSources = (): ReadonlyArray<Source> => {
  const present = new Set(readdirSync(root))
  const inFolders = folders
    .filter((folder) => present.has(folder))
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    // Programs of the laboratory are installed in their own folders.
    .filter((entry) => entry.isFile() && !entry.parentPath.includes("node_modules"))
    .map((entry) => join(entry.parentPath, entry.name))
  const atRoot = files.filter((file) => present.has(file)).map((file) => join(root, file))
  return [...inFolders, ...atRoot].map(
    (path) => new Source(path.slice(root.length + 1).replaceAll(sep, "/"), readFileSync(path, "utf8"))
  )
}

export const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

const loading = ["ImportDeclaration", "ImportExpression", "ExportNamedDeclaration", "ExportAllDeclaration", "TSImportType"]

/** Each kind of node in the order in which they stand in the text. */
const byType = (tree: unknown): ReadonlyMap<string, ReadonlyArray<SyntaxNode>> => {
  const found = new Map<string, Array<SyntaxNode>>()
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each)
    if (!isNode(value)) return
    const alike = found.get(value.type)
    if (alike === undefined) found.set(value.type, [value])
    else alike.push(value)
    for (const child of Object.values(value)) if (typeof child === "object" && child !== null) visit(child)
  }
  visit(tree)
  return found
}

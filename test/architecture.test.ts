import { describe, expect, it } from "vitest"
import { circle, fileGraph, folderGraph } from "./support/ImportGraph.ts"
import { imports } from "./support/ImportTable.ts"
import type { SyntaxNode } from "./support/Source.ts"
import { isNode, readSources, type Source } from "./support/Source.ts"

const foreignImports = (source: Source): ReadonlyArray<string> => {
  const path = source.path.replace(/^src\//, "")
  const row = imports.find(({ from }) => from.test(path))
  if (row === undefined) return [`${source.path}:1 has no row in ImportTable.ts`]
  const captured = row.from.exec(path)?.[1] ?? ""
  const allowed = row.files.map((file) => `src/${file.replace("$1", captured)}`)
  return source.imports
    .filter(({ name }) =>
      name.startsWith("src/")
        ? !allowed.some((file) => name.startsWith(file))
        : !row.packages.some((pattern) => pattern.test(name))
    )
    .map(({ name, offset }) => `${source.at(offset)} imports ${name}`)
}

const members =
  (...names: ReadonlyArray<string>) =>
  (source: Source): ReadonlyArray<string> =>
    source.members.filter(({ name }) => names.includes(name)).map(({ name, offset }) => `${source.at(offset)} ${name}`)

const nodes =
  (type: string, except: (node: SyntaxNode) => boolean = () => false) =>
  (source: Source): ReadonlyArray<string> =>
    source
      .find(type)
      .filter((found) => !except(found))
      .map((found) => `${source.at(found.start)} ${source.text.slice(found.start, found.end).split("\n")[0]}`)

const text =
  (pattern: RegExp) =>
  (source: Source): ReadonlyArray<string> =>
    source.matches(pattern)

const nameOf = (value: unknown): unknown => (isNode(value) ? value["name"] : undefined)

const isConst = ({ typeAnnotation }: SyntaxNode): boolean =>
  isNode(typeAnnotation) && nameOf(typeAnnotation["typeName"]) === "const"

/** A Date of a given moment has nothing to do with the system's time. */
const isNotNow = ({ arguments: given, callee }: SyntaxNode): boolean =>
  nameOf(callee) !== "Date" || (Array.isArray(given) && given.length > 0)

/** Members with an underscore before their name, and what a context or a router keeps its parts in. */
const inner = text(/(?:\._(?!tag\b)[A-Za-z]\w*|Reflect\.\w+\(\w+, "_\w+"|\bmapUnsafe\b|\.emit = ).*/)

const MAX_FILE_LINES = 400
const MAX_FUNCTION_LINES = 60

const longFile = (source: Source): ReadonlyArray<string> => {
  const lines = source.text.trimEnd().split("\n").length
  return lines > MAX_FILE_LINES ? [`${source.path}:${lines} has ${lines} lines`] : []
}

/** A function's own lines: those of the functions inside count for themselves. */
const longFunctions = (source: Source): ReadonlyArray<string> => {
  const line = (offset: number): number => source.text.slice(0, offset).split("\n").length
  const functions = ["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"].flatMap((type) => source.find(type))
  return functions.flatMap((outer) => {
    const own = new Set(Array.from({ length: line(outer.end) - line(outer.start) + 1 }, (_, index) => line(outer.start) + index))
    for (const inner of functions) {
      if (inner.start <= outer.start || inner.end > outer.end) continue
      for (let inside = line(inner.start) + 1; inside < line(inner.end); inside++) own.delete(inside)
    }
    return own.size > MAX_FUNCTION_LINES ? [`${source.at(outer.start)} has ${own.size} lines`] : []
  })
}

/** Failures, traces and fakes name a service by the end of its key. */
const foreignKeys = (source: Source): ReadonlyArray<string> =>
  [...source.text.matchAll(/class (\w+) extends Context\.Service<[^]*?>\(\)\("([^"]+)"\)/g)].flatMap(
    ({ 1: name, 2: key = "", index }) => (key.split("/").at(-1) === name ? [] : [`${source.at(index)} has the key ${key}`])
  )

const vagueName = ({ path }: Source): ReadonlyArray<string> =>
  /(^|\/)(index|utils?|helpers?|common|types)\.[a-z]+$/i.test(path) ? [`${path}:1`] : []

const looseVersions = (source: Source): ReadonlyArray<string> => {
  const { dependencies, devDependencies } = JSON.parse(source.text)
  return Object.entries({ ...dependencies, ...devDependencies })
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version)))
    .map(([name, version]) => `${source.at(source.text.indexOf(`"${name}"`))} ${name} ${version}`)
}

const skippedTests = (source: Source): ReadonlyArray<string> =>
  source.matches(/\b(it|test|describe)(\.\w+)*\.(skip|skipIf|runIf|only|todo|fails)\b/)

/** Elsewhere than where each is at home. In capitals alone, a name is a network's. */
const providerNames = (sources: ReadonlyArray<Source>): ReadonlyArray<string> => {
  const names = sources.flatMap(({ path }) => /^src\/providers\/(\w+)\/Settings\.ts$/.exec(path)?.[1] ?? []).join("|")
  const home = new RegExp(`^src/((providers|simulator)/((${names})/|Registry\\.ts$)|persistence/schema/migrations/)`)
  const named = new RegExp(`(?<![a-z])(${names})\\w*`, "gi")
  return sources
    .filter(({ path }) => src.test(path) && !home.test(path))
    .flatMap((source) => [...source.text.matchAll(named)].map(({ 0: name, index }) => ({ at: source.at(index), name })))
    .filter(({ name }) => !/^[A-Z]+$/.test(name))
    .map(({ at, name }) => `${at} ${name}`)
}

/** Names of packages, and files, that are read before a command of the program begins. */
const readAtStart = (sources: ReadonlyArray<Source>): ReadonlySet<string> => {
  const read = new Set(["src/commands/Program.ts"])
  // A set's end moves while it grows.
  for (const path of read) {
    const source = sources.find((one) => one.path === path)
    for (const { isLoaded, name } of source?.imports ?? []) if (isLoaded) read.add(name)
  }
  return read
}

const code = /^(src|test|lab|bench|clients\/cli)\/.*\.ts$/
const src = /^src\/.*\.ts$/
const decisions = /^src\/(services|providers)\//
const everything = /^(?!package-lock\.json)/
/** Names what it forbids. */
const self = /^test\/architecture\.test\.ts$/

const rules: ReadonlyArray<{
  readonly promise: string
  readonly where: RegExp
  readonly except?: RegExp
  readonly offences: (source: Source) => ReadonlyArray<string>
}> = [
  { promise: "imports only what its folder may import", where: src, offences: foreignImports },
  {
    promise: "imports nothing of the tests, their fakes among them, nor of the benches",
    where: src,
    offences: (source) =>
      source.imports.filter(({ name }) => /^(test|lab|bench)\//.test(name)).map(({ offset }) => source.at(offset))
  },
  { promise: `keeps files within ${MAX_FILE_LINES} lines`, where: code, offences: longFile },
  { promise: `keeps functions within ${MAX_FUNCTION_LINES} lines`, where: src, offences: longFunctions },
  { promise: "names files for a noun", where: code, offences: vagueName },
  { promise: "gives a service its own name as its key", where: src, offences: foreignKeys },
  { promise: "takes the time from Clock", where: src, offences: members("Date.now", "performance.now") },
  { promise: "makes no Date from the system's time", where: src, offences: nodes("NewExpression", isNotNow) },
  { promise: "takes randomness from a service", where: src, offences: members("Math.random") },
  {
    promise: "reads the environment in one place",
    where: src,
    except: /^src\/(Config|main)\.ts$/,
    offences: members("process.env")
  },
  {
    promise: "prints where what came from outside is made visible",
    where: src,
    except: /^src\/(commands\/Output|observability\/Logs)\.ts$/,
    offences: members(
      "Console.log",
      "Console.error",
      "console.log",
      "console.error",
      "process.stdout.write",
      "process.stderr.write"
    )
  },
  {
    promise: "imports nothing but types from node:http, whose other exports would load a client that nobody uses",
    where: src,
    offences: (source) =>
      source.imports.filter(({ isLoaded, name }) => isLoaded && name === "node:http").map(({ offset }) => source.at(offset))
  },
  { promise: "has no any", where: src, offences: nodes("TSAnyKeyword") },
  { promise: "has no casts", where: src, offences: nodes("TSAsExpression", isConst) },
  { promise: "has no casts in angle brackets", where: src, offences: nodes("TSTypeAssertion") },
  { promise: "asserts nothing to be present", where: src, offences: nodes("TSNonNullExpression") },
  { promise: "silences no type error", where: code, offences: text(/^.*\/\/\s*@ts-(ignore|nocheck|expect-error).*$/) },
  {
    promise: "handles errors by their names in services and providers",
    where: decisions,
    offences: members("Effect.ignore", "Effect.ignoreCause", "Effect.orElseSucceed", "Effect.catchCause", "Effect.orDie")
  },
  {
    promise: "reads and changes nothing that Node and Effect keep to themselves",
    where: src,
    offences: (source) => [...inner(source), ...members("Reflect.set")(source)]
  },
  {
    promise: "spends a nonce at the edge, or with the claim of its key",
    where: src,
    except: /^src\/(http\/(edge\/Edge|idempotency\/Idempotent)|services\/admission\/RequestNonce)\.ts$/,
    offences: members("nonce.settle", "nonce.spendWith")
  },
  { promise: "pins exact versions", where: /^package\.json$/, offences: looseVersions },
  {
    promise: "names a test for the process of its own that it needs",
    where: /^(test|lab)\/.*(?<!Isolated|\.long)\.test\.ts$/,
    except: self,
    offences: (source) => [
      ...source.matches(/vi\.mock\(|spyOn\(console|givenOperated/),
      ...(source.text.includes("Metric.MetricRegistry") ? [] : source.matches(/\bMetric\b/)),
      // A command line only reads the settings of what is traced.
      ...(source.path.startsWith("test/commands/") ? [] : source.matches(/\bOTEL_/))
    ]
  },
  {
    promise: "says answered, reported, logged or sent, whichever it is",
    where: src,
    except: /\/migrations\//,
    offences: text(/\b(told|heard|desk)\b/i)
  },
  {
    promise: "begins the sentences of comments with a noun, not with whoever, nobody or what",
    where: src,
    except: /\/(schema|description)\//,
    offences: text(/^[^"'`\n]*(\/\*\*|\/\/|^ *\*)( .*[.])? (Whoever|Nobody|What)\b.*$/)
  },
  { promise: "leaves nothing for later", where: everything, except: self, offences: text(/\b(TODO|FIXME)\b/) },
  {
    promise: "skips no test that this machine could run",
    where: /^(test|lab)\/.*\.ts$/,
    except: /Installed\.ts$|architecture\.test\.ts$|MixedReleases\.long\.test\.ts$/,
    offences: skippedTests
  },
  {
    promise: "cites no document that is not here",
    where: everything,
    except: self,
    offences: text(/\b(interface|decisions|running|architecture|house|money-path)\.md\b.*/)
  },
  { promise: "knows no path of a workplace", where: everything, offences: text(/(?<![\w./$}:-])\/(work|root|home|Users)\/\S*/) },
  { promise: "knows no package registry", where: /./, except: self, offences: text(/"resolved": "http.*|registry\.npmjs\S*/) }
]

describe("the architecture", () => {
  const sources = readSources()

  for (const { promise, where, except, offences } of rules) {
    it(promise, () => {
      const places = sources.filter(({ path }) => where.test(path) && except?.test(path) !== true).flatMap(offences)
      expect(places.join("\n")).toBe("")
    })
  }

  it("names a provider in its own folders, in the registries and in migrations only", () => {
    expect(providerNames(sources).join("\n")).toBe("")
  })

  it("has no circle of files", () => {
    expect(circle(fileGraph(sources)).join(" -> ")).toBe("")
  })

  it("has no import from a lower layer to a higher one", () => {
    expect(circle(folderGraph(fileGraph(sources))).join(" -> ")).toBe("")
  })

  it("detects a circle when there is one", () => {
    const graph = new Map([
      ["a", new Set(["b"])],
      ["b", new Set(["c"])],
      ["c", new Set(["b"])]
    ])
    expect(circle(graph)).toStrictEqual(["b", "c", "b"])
  })

  it("loads no simulator before a command that runs one", () => {
    expect([...readAtStart(sources)].filter((name) => name.startsWith("src/simulator/")).join("\n")).toBe("")
  })

  it("loads the Redis client and the telemetry exporters only where they are configured, because of their size", () => {
    const large =
      /^(redis|effect\/(persistence|observability|reactivity)|@effect\/(opentelemetry.*|platform-node|sql-pg)|@opentelemetry\/.*)$/
    const read = readAtStart(sources)
    expect(read).toContain("src/observability/Management.ts")
    expect([...read].filter((name) => large.test(name)).join("\n")).toBe("")
  })
})

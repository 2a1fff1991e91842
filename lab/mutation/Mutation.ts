import { spawnSync } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { parseArgs } from "node:util"
import { type Part, parts } from "./Parts.ts"
import { isEnough, type Kept, type StrykerReport, scoresOf, sumOf, survivorsOf } from "./Report.ts"

// Makes one mistake after another in what moves money and decides, and counts those that the tests notice. Stryker makes them; what it needs is
// in a package of its own, so that nobody who only runs the gateway or its tests installs it.

const usage = `npm run mutation -- [--part ${Object.keys(parts).join("|")}] [--file src/...ts]... [--concurrency N]`
const root = resolve(import.meta.dirname, "..", "..")
const work = join(root, ".data", "mutation")
const tools = join(work, "tools")
/** Where the newest figure of each file is kept. */
const KEPT = join(root, "docs", "reliability", "mutation.json")

const wanted = (() => {
  try {
    const { values } = parseArgs({
      options: {
        part: { type: "string", multiple: true, default: [] },
        file: { type: "string", multiple: true, default: [] },
        concurrency: { type: "string", default: "2" }
      }
    })
    const unknown = values.part.find((name) => parts[name] === undefined)
    if (unknown !== undefined) throw new Error(`there is no part ${unknown}`)
    const concurrency = Number(values.concurrency)
    if (!Number.isSafeInteger(concurrency) || concurrency < 1) throw new Error("--concurrency takes a whole number above zero")
    const missing = values.file.find((file) => !existsSync(join(root, file)))
    if (missing !== undefined) throw new Error(`there is no file ${missing}`)
    return { names: values.part.length > 0 ? values.part : Object.keys(parts), files: values.file, concurrency }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

const run = (program: string, args: ReadonlyArray<string>, more: Readonly<Record<string, string>> = {}, cwd = root) => {
  const { status } = spawnSync(program, args, { cwd, env: { ...process.env, ...more }, stdio: "inherit" })
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}`)
}

/** Outside the folders that tests and documents are looked for in. */
const install = () => {
  if (existsSync(join(tools, "node_modules", "@stryker-mutator"))) return
  mkdirSync(tools, { recursive: true })
  for (const file of ["package.json", "package-lock.json", ".npmrc"])
    copyFileSync(join(import.meta.dirname, file), join(tools, file))
  run("npm", ["ci", "--no-audit", "--no-fund"], {}, tools)
}

const measure = (name: string, { files, tests }: Part): StrykerReport => {
  const report = join(work, `${name}.json`)
  const configuration = join(work, `${name}.config.json`)
  const plugin = join(tools, "node_modules", "@stryker-mutator", "vitest-runner", "dist", "src", "index.js")
  const options = {
    plugins: [plugin],
    testRunner: "vitest",
    // What is loaded with the module is noticed by tests that load it; the others need not run.
    vitest: { configFile: "lab/mutation/vitest.config.ts", related: true },
    // On a machine that has much else to do a mistake is not found because its tests took long.
    timeoutMS: 15_000,
    mutate: wanted.files.length > 0 ? wanted.files : files,
    coverageAnalysis: "perTest",
    concurrency: wanted.concurrency,
    reporters: ["progress-append-only", "json"],
    jsonReporter: { fileName: report },
    tempDirName: relative(root, join(work, "sandbox")),
    ignorePatterns: [".git", ".data", "deploy"],
    // It would read this file with an interface that TypeScript 7 no longer has; nothing here needs it.
    tsconfigFile: "none.json",
    allowConsoleColors: false
  }
  writeFileSync(configuration, JSON.stringify(options))
  const stryker = join(tools, "node_modules", "@stryker-mutator", "core", "bin", "stryker.js")
  run(process.execPath, [stryker, "run", configuration], { MUTATION_TESTS: tests.join(",") })
  return JSON.parse(readFileSync(report, "utf8"))
}

const keep = (scores: Kept) => {
  const before: Kept = existsSync(KEPT) ? JSON.parse(readFileSync(KEPT, "utf8")) : {}
  const all = Object.entries({ ...before, ...scores }).filter(([file]) => existsSync(join(root, file)))
  mkdirSync(resolve(KEPT, ".."), { recursive: true })
  const lines = all
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([file, score]) => `  "${file}": ${JSON.stringify(score, null, 1).replaceAll(/\n */g, " ")}`)
  writeFileSync(KEPT, `{\n${lines.join(",\n")}\n}\n`)
}

install()
mkdirSync(work, { recursive: true })
for (const name of wanted.names) {
  const part = parts[name]
  if (part === undefined) continue
  const report = measure(name, part)
  const scores = scoresOf(report)
  keep(scores)
  const open = survivorsOf(report).filter(({ why }) => why === undefined)
  for (const { file, line, original, replacement } of open) console.log(`${file}:${line}\n- ${original}\n+ ${replacement}`)
  console.table(scores)
  const sum = sumOf(Object.values(scores))
  console.log(
    `${name}: ${sum.found} of ${sum.mutants} mistakes found, ${sum.explained} explained, ${sum.open} open: ${sum.score} %`
  )
  // The goal is the whole part's.
  if (!isEnough(sum, wanted.files.length === 0 ? part.atLeast : 0)) process.exitCode = 1
}

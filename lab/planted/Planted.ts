import { spawn } from "node:child_process"
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, relative, resolve } from "node:path"
import { parseArgs } from "node:util"
import { commitPlayed, mustStillPlay } from "../runs/Commit.ts"
import type { Bug } from "./Bug.ts"
import { bugs } from "./Bugs.ts"
import { isDue, RECORD, record, recorded } from "./Record.ts"
import { lastLine, type Run, toldBy } from "./Told.ts"

// Checks the checkers: each bug is planted in a copy of the program, and the run that guards against it has to fail there. Exits 1 where
// one goes unnoticed, where a text to be replaced is not there any more, or where the copy without a bug fails.

const usage = "npm run planted -- [--only TEXT] [--due] [--at-once N] [--seeds N] [--steps N] [--json] [--record]"
const ROOT = resolve(import.meta.dirname, "..", "..")
/** A gateway serves what is in `docs` and `clients`. */
const COPIED = ["src", "test", "lab", "docs", "clients", "package.json", "package-lock.json", "tsconfig.json", "vitest.config.ts"]
const RUN_MS = 900_000
/** Of what a run said, enough to name its fault. */
const SAID_AT_MOST = 200_000

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: "string", default: "" },
        due: { type: "boolean", default: false },
        "at-once": { type: "string", default: "1" },
        seeds: { type: "string", default: "200" },
        steps: { type: "string", default: "20" },
        json: { type: "boolean", default: false },
        record: { type: "boolean", default: false }
      }
    })
    const [seeds = 0, steps = 0, atOnce = 0] = [values.seeds, values.steps, values["at-once"]].map(Number)
    if (![seeds, steps, atOnce].every((one) => Number.isSafeInteger(one) && one > 0))
      throw new Error("not a whole number above 0")
    return { ...values, seeds, steps, atOnce }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

interface Result {
  readonly name: string
  readonly breaks: string
  readonly outcome: "caught" | "missed" | "does not apply" | "broken"
  readonly by: string
  /** Seeds that were played, the failing one among them; null for a test. */
  readonly seeds: number | null
  readonly said: string
  readonly seconds: number
}

const run = (folder: string, file: string, args: ReadonlyArray<string>): Promise<Run> =>
  new Promise((done) => {
    const child = spawn(process.execPath, [file, ...args], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: RUN_MS
    })
    let text = ""
    const hear = (chunk: Buffer) => {
      text = (text + chunk.toString("utf8")).slice(-SAID_AT_MOST)
    }
    child.stdout.on("data", hear)
    child.stderr.on("data", hear)
    child.once("close", (code) => done({ code, text }))
  })

const simulate = async (folder: string): Promise<Pick<Result, "outcome" | "by" | "seeds" | "said">> => {
  const args = ["--seed", "1", "--seeds", String(options.seeds), "--steps", String(options.steps)]
  const { code, text } = await run(folder, join(folder, "lab", "simulation", "main.ts"), args)
  const failed = /^FAILED: .*--seed (\d+) .*\n {2}(.*)$/m.exec(text)
  if (failed !== null) return { outcome: "caught", by: "simulation", seeds: Number(failed[1]), said: failed[2] ?? "" }
  if (code === 0) return { outcome: "missed", by: "simulation", seeds: options.seeds, said: "" }
  return { outcome: "broken", by: "simulation", seeds: null, said: lastLine(text) }
}

const test = async (
  folder: string,
  ...files: ReadonlyArray<string>
): Promise<Pick<Result, "outcome" | "by" | "seeds" | "said">> => {
  const args = ["run", "--no-color", ...files]
  return toldBy(await run(folder, join(ROOT, "node_modules", "vitest", "vitest.mjs"), args))
}

/** False where a text is not there exactly once. */
const plant = async (folder: string, { edits }: Pick<Bug, "edits">): Promise<boolean> => {
  for (const { file, instead, text } of edits) {
    const before = await readFile(join(folder, file), "utf8")
    const parts = before.split(text)
    if (parts.length !== 2) return false
    await writeFile(join(folder, file), parts.join(instead))
  }
  return true
}

const inCopy = async <A>(work: (folder: string) => Promise<A>): Promise<A> => {
  const folder = await mkdtemp(join(tmpdir(), "planted-"))
  try {
    for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true })
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"))
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const check = (bug: Bug): Promise<Result> =>
  inCopy(async (folder) => {
    const started = performance.now()
    const { breaks, name } = bug
    const isPlanted = await plant(folder, bug)
    const found = !isPlanted
      ? { outcome: "does not apply" as const, by: "", seeds: null, said: "" }
      : bug.test === undefined
        ? await simulate(folder)
        : await test(folder, bug.test)
    return { name, breaks, ...found, seconds: Math.round((performance.now() - started) / 1000) }
  })

const line = ({ by, name, outcome, said, seconds, seeds }: Result): string =>
  `${name.padEnd(38)} ${outcome.padEnd(14)} ${by.padEnd(10)} ${String(seeds ?? "").padStart(5)} ${String(seconds).padStart(4)} s  ${said}`

/** Each at once: a run that is ended keeps what it has found. */
const keep = (commit: string, { name, outcome, said, seeds }: Result): void => {
  mustStillPlay(commit)
  record(bugs, { name, date: new Date().toISOString().slice(0, 10), commit, outcome, stories: seeds, said })
}

const main = async () => {
  const commit = commitPlayed(options.record)
  const before = recorded()
  const chosen = bugs.filter((bug) => bug.name.includes(options.only) && (!options.due || isDue(before, bug)))
  if (chosen.length === 0) {
    const which = options.due ? "is due and has" : "has"
    console.error(`no mistake ${which} "${options.only}" in its name; they are:\n${bugs.map(({ name }) => name).join("\n")}`)
    process.exitCode = 2
    return
  }
  const untouched = await inCopy(simulate)
  if (untouched.outcome !== "missed") {
    console.error(`the program fails without a bug: ${untouched.said}`)
    process.exitCode = 1
    return
  }
  const files = [...new Set(chosen.flatMap((bug) => bug.test ?? []))]
  const tested = files.length === 0 ? undefined : await inCopy((folder) => test(folder, ...files))
  if (tested !== undefined && tested.outcome !== "missed") {
    console.error(`a test fails without a bug: ${tested.said}`)
    process.exitCode = 1
    return
  }
  if (!options.json) console.log(`${untouched.seeds} stories and ${files.length} files of tests of the program as it is: clean`)
  const results: Array<Result> = []
  const left = [...chosen]
  const checkNext = async (): Promise<void> => {
    const bug = left.shift()
    if (bug === undefined) return
    const result = await check(bug)
    results.push(result)
    if (options.record) keep(commit, result)
    if (!options.json) console.log(line(result))
    return checkNext()
  }
  await Promise.all(Array.from({ length: options.atOnce }, checkNext))
  if (options.record && !options.json) console.log(`on record in ${relative(ROOT, RECORD)}`)
  const missed = results.filter(({ outcome }) => outcome !== "caught")
  if (options.json) console.log(JSON.stringify(results))
  else console.log(`${results.length - missed.length} of ${results.length} caught`)
  process.exitCode = missed.length === 0 ? 0 : 1
}

await main()

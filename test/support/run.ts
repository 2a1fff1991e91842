import { spawn } from "node:child_process"
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, join, resolve } from "node:path"

/**
 * `npm test`: every check but the long tests (vitest.config.ts says which these are). Each runs, also after one has failed, and the last line
 * counts them. `npm run test:long` runs the long tests, `npm run test:all` both. `npm test -- PATH ...` runs the tests of those files and
 * folders alone, the long ones among them. Options are passed on to vitest, such as `-t TITLE`.
 */

interface Count {
  readonly passed: number
  readonly failed: number
  readonly skipped?: number
}

interface VitestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly testResults: ReadonlyArray<{ readonly status: string; readonly assertionResults: ReadonlyArray<unknown> }>
}

const root = resolve(import.meta.dirname, "..", "..")
const programs = join(root, "node_modules", ".bin")

const main = async (args: ReadonlyArray<string>): Promise<void> => {
  const counts = await chosen(args)
  const passed = counts.reduce((sum, count) => sum + count.passed, 0)
  const failed = counts.reduce((sum, count) => sum + count.failed, 0)
  const skipped = counts.reduce((sum, count) => sum + (count.skipped ?? 0), 0)
  if (skipped > 0) console.log(`${skipped} skipped: they need a program or a cluster that this machine does not have`)
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1
}

const chosen = ([which = "", ...more]: ReadonlyArray<string>): Promise<ReadonlyArray<Count>> => {
  if (which === "--long") return tests(["--project", "long", ...more])
  if (which === "--all") return everything([])
  return which === "" ? everything(["--project", "!long"]) : tests([which, ...more])
}

const everything = async (only: ReadonlyArray<string>): Promise<ReadonlyArray<Count>> => [
  await check("types", "tsc", ["--noEmit", "-p", "."]),
  await check("lint", "oxlint", []),
  await check("format", "biome", ["check"]),
  ...(await tests(only))
]

const check = async (name: string, program: string, options: ReadonlyArray<string>): Promise<Count> => {
  console.log(`\n== ${name}`)
  return (await execute(program, options)) === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }
}

/** The tests, and what their gateways sent to the database. */
const tests = async (only: ReadonlyArray<string>): Promise<ReadonlyArray<Count>> => {
  console.log("\n== tests")
  const folder = await mkdtemp(join(tmpdir(), "payment-gateway-report-"))
  const statements = join(folder, "statements")
  await mkdir(statements)
  const file = join(folder, "report.json")
  const reports = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`]
  const code = await execute("vitest", ["run", ...reports, ...only], { SENT_STATEMENTS: statements })
  const text = await readFile(file, "utf8").catch(() => undefined)
  const { failed, passed, skipped = 0 } = text === undefined ? { passed: 0, failed: 0 } : count(JSON.parse(text))
  const sent = await check("statements", "node", ["lab/citus/Check.ts", statements])
  await rm(folder, { recursive: true, force: true })
  // A run that failed without a failed test, such as by an unhandled rejection or a lost report, is a failure all the same.
  return [{ passed, skipped, failed: code !== 0 && failed === 0 ? 1 : failed }, sent]
}

/** A test file that cannot be loaded has no tests to count: it is one failure. */
const count = ({ numPassedTests, numFailedTests, numPendingTests, testResults }: VitestReport): Count => ({
  passed: numPassedTests,
  skipped: numPendingTests,
  failed: numFailedTests + testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length
})

const execute = (program: string, options: ReadonlyArray<string>, more: Readonly<Record<string, string>> = {}): Promise<number> =>
  new Promise((done) => {
    const env = {
      ...process.env,
      ...more,
      PATH: `${programs}${delimiter}${process.env["PATH"] ?? ""}`,
      // Each of the processes, of which some test files have one for themselves, would compile the same packages again.
      NODE_COMPILE_CACHE:
        process.env["NODE_COMPILE_CACHE"] ?? join(tmpdir(), `payment-gateway-compiled-${process.getuid?.() ?? ""}`)
    }
    const child = spawn(join(programs, program), options, { cwd: root, env, stdio: ["ignore", "inherit", "inherit"] })
    child.once("error", (cause) => {
      console.error(cause.message)
      done(1)
    })
    child.once("close", (code) => done(code ?? 1))
  })

await main(process.argv.slice(2))

import { createHash } from "node:crypto"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { Cause, Effect, Exit, Fiber } from "effect"
import { EmbeddedPostgres } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import { simulate } from "./Simulation.ts"
import { makeTestbed } from "./Testbed.ts"

// Plays seeds until the first that fails, and says how to play that one again.

const usage = "npm run simulate -- [--seed N] [--steps N] [--seeds K] [--digest] [--story]   (K = 0: for ever)"
const PROGRESS_EVERY = 100

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        seed: { type: "string", default: "1" },
        steps: { type: "string", default: "40" },
        seeds: { type: "string", default: "20" },
        digest: { type: "boolean", default: false },
        story: { type: "boolean", default: false }
      }
    })
    const numbers = [values.seed, values.steps, values.seeds].map(Number)
    const [seed = 0, steps = 0, seeds = 0] = numbers
    if (!numbers.every((one) => Number.isSafeInteger(one) && one >= 0)) throw new Error("not a whole number")
    return { ...values, seed, steps, seeds: seeds === 0 ? Number.POSITIVE_INFINITY : seeds }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

const play = Effect.gen(function* () {
  const dataDir = mkdtempSync(join(tmpdir(), "simulation-"))
  const server = yield* EmbeddedPostgres.ensureRunning(dataDir, "off")
  yield* Effect.addFinalizer(() => Effect.orDie(EmbeddedPostgres.stop(dataDir)))
  const testbed = yield* makeTestbed(EmbeddedPostgres.url(server))
  const totals = { seeds: 0, operations: 0, crashes: 0, jumps: 0, movements: 0, reviewed: 0 }
  // Also of a run that is stopped.
  yield* Effect.addFinalizer(() => Effect.sync(() => console.log(JSON.stringify(totals))))
  for (let seed = options.seed; seed < options.seed + options.seeds; seed++) {
    const { faults, story, ...played } = yield* simulate(seed, options.steps, testbed)
    totals.seeds++
    totals.operations += played.operations
    totals.crashes += played.crashes
    totals.jumps += played.jumps
    totals.movements += played.movements
    totals.reviewed += played.reviewed
    if (options.digest) console.error(`${seed} ${createHash("sha256").update(story).digest("hex")}`)
    if (options.story) console.error(story)
    if (totals.seeds % PROGRESS_EVERY === 0) console.error(JSON.stringify(totals))
    if (faults.length === 0) continue
    console.error(`FAILED: npm run simulate -- --seed ${seed} --steps ${options.steps} --seeds 1`)
    for (const fault of faults) console.error(`  ${fault}`)
    process.exitCode = 1
    break
  }
})

const playing = Effect.runFork(Effect.scoped(play))
// Its database is stopped, however the run ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => Effect.runFork(Fiber.interrupt(playing)))
const exit = await Effect.runPromise(Fiber.await(playing))
if (Exit.isFailure(exit)) {
  console.error(Cause.pretty(exit.cause))
  process.exitCode = 1
}

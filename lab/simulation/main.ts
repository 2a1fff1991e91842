import { createHash } from "node:crypto"
import { parseArgs } from "node:util"
import { commitPlayed, mustStillPlay } from "../runs/Commit.ts"
import { openPlayers } from "./Players.ts"
import { emptyPart, nextSeed, parts, playedBefore, record, withStory } from "./Record.ts"
import type { Outcome } from "./Simulation.ts"

// Plays seeds until the first that fails, and says how to play that one again. With --record what was played is added to
// docs/reliability/stories.jsonl, a hundred stories a line; with --from-record a run goes on after the last that is recorded there.

const usage =
  "npm run simulate -- [--seed N] [--steps N] [--seeds K] [--jobs N] [--digest] [--story] [--record] [--from-record]   (K = 0: for ever)"
const PART_STORIES = 100

const wrong = (message: string): never => {
  console.error(`${message}\nusage: ${usage}`)
  process.exit(2)
}

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      seed: { type: "string", default: "1" },
      steps: { type: "string", default: "40" },
      seeds: { type: "string", default: "20" },
      jobs: { type: "string", default: "1" },
      digest: { type: "boolean", default: false },
      story: { type: "boolean", default: false },
      record: { type: "boolean", default: false },
      "from-record": { type: "boolean", default: false }
    }
  })
  const numbers = [values.seed, values.steps, values.seeds, values.jobs].map(Number)
  const [seed = 0, steps = 0, seeds = 0, jobs = 0] = numbers
  if (!numbers.every((one) => Number.isSafeInteger(one) && one >= 0) || jobs === 0) throw new Error("not a whole number")
  const first = values["from-record"] ? nextSeed(parts(), { first: seed, steps }) : seed
  return { ...values, first, steps, jobs, seeds: seeds === 0 ? Number.POSITIVE_INFINITY : seeds }
}

const options = (() => {
  try {
    return readOptions()
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error))
  }
})()
const { first, jobs, seeds, steps } = options

const commit = commitPlayed(options.record)
const before = options.record ? playedBefore(parts(), { first, seeds, steps }) : undefined
if (before !== undefined)
  wrong(
    `seeds ${before.first} to ${before.first + before.seeds - 1} of ${steps} steps are on record: --from-record goes on after them`
  )

const empty = (from: number) => emptyPart({ commit, first: from, steps })
let totals = empty(first)
let part = empty(first)
const put = () => {
  if (options.record && part.seeds > 0) {
    mustStillPlay(commit)
    record(part)
  }
  part = empty(part.first + part.seeds)
}

const heard = (seed: number, played: Outcome) => {
  totals = withStory(totals, played)
  part = withStory(part, played)
  if (options.digest) console.error(`${seed} ${createHash("sha256").update(played.story).digest("hex")}`)
  if (options.story) console.error(played.story)
  if (part.seeds === PART_STORIES) {
    console.error(`so far: ${JSON.stringify(totals)}`)
    put()
  }
  if (played.faults.length === 0) return
  console.error(`FAILED: npm run simulate -- --seed ${seed} --steps ${steps} --seeds 1`)
  for (const fault of played.faults) console.error(`  ${fault}`)
  process.exitCode = 1
}

const players = openPlayers({ first, seeds, steps, jobs, heard })
// More than once: whoever stops a group of processes may tell each of them again.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, players.stop)
try {
  await players.ended
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  // Also of a run that is stopped.
  put()
  console.log(JSON.stringify(totals))
}

import { appendFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { knownSimulators } from "../../src/simulator/Registry.ts"
import { commitPlayed, mustStillPlay } from "../runs/Commit.ts"
import { type Counts, playedCases } from "./Play.ts"

// Plays cases of the hostile wire at every provider, and prints what was wrong. With --record the sums are a line of docs/reliability/hostile.jsonl.

const RECORD = join(import.meta.dirname, "..", "..", "docs", "reliability", "hostile.jsonl")
/** A new simulator after so many cases: it keeps what it was told. */
const AT_ONCE = 1000

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    cases: { type: "string", default: "1000" },
    only: { type: "string", default: "" },
    record: { type: "boolean", default: false }
  }
})
const [first, cases] = [Number(values.seed), Number(values.cases)]
if (!Number.isSafeInteger(first) || !Number.isSafeInteger(cases) || first < 0 || cases < 1) {
  console.error("usage: npm run hostile -- [--seed N] [--cases N] [--only PROVIDER] [--record]   (cases at each provider)")
  process.exit(2)
}

const commit = commitPlayed(values.record)
const sums = new Map<string, Counts>()
const startedAt = Date.now()
for (let from = first; from < first + cases; from += AT_ONCE) {
  const parts = knownSimulators
    .filter(({ name }) => values.only === "" || name === values.only)
    .map((known) => playedCases(known, from, Math.min(AT_ONCE, first + cases - from)))
  for (const part of await Effect.runPromise(Effect.scoped(Effect.all(parts, { concurrency: "unbounded" })))) {
    const before = sums.get(part.provider)
    const faults = [...(before?.faults ?? []), ...part.faults]
    sums.set(part.provider, {
      ...part,
      cases: (before?.cases ?? 0) + part.cases,
      moved: (before?.moved ?? 0) + part.moved,
      vacuous: (before?.vacuous ?? 0) + part.vacuous,
      faults
    })
    for (const fault of part.faults) console.error(fault)
  }
  const done = [...sums.values()].map(
    ({ cases, faults, moved, provider }) => `${provider} ${cases}, ${moved} moved, ${faults.length} wrong`
  )
  console.error(`so far: ${done.join("; ")}`)
}

const providers = [...sums.values()].map(({ cases, faults, moved, provider, vacuous }) => ({
  provider,
  cases,
  moved,
  vacuous,
  faults: faults.length
}))
const seconds = Math.round((Date.now() - startedAt) / 1000)
const line = { date: new Date().toISOString().slice(0, 10), commit, first, cases, seconds, providers }
console.log(JSON.stringify(line))
if (values.record) {
  mustStillPlay(commit)
  appendFileSync(RECORD, `${JSON.stringify(line)}\n`)
}
process.exitCode = providers.some(({ faults }) => faults > 0) ? 1 : 0

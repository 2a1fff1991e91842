import { parseArgs } from "node:util"
import { Effect } from "effect"
import { knownSimulators } from "../../src/simulator/Registry.ts"
import { runRecorder } from "../runs/Runs.ts"
import { type Counts, playedCases } from "./Play.ts"

// Plays cases of the hostile wire at every provider, and prints what was wrong. With --record it is a line of docs/reliability/runs.jsonl.

/** A new simulator after so many cases: it keeps what it was told. */
const AT_ONCE = 500

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    cases: { type: "string", default: "1000" },
    minutes: { type: "string", default: "0" },
    only: { type: "string", default: "" },
    record: { type: "boolean", default: false }
  }
})
const [first = 0, cases = 0, minutes = 0] = [values.seed, values.cases, values.minutes].map(Number)
if (![first, cases, minutes].every((one) => Number.isSafeInteger(one) && one >= 0) || cases < 1) {
  console.error(
    "usage: npm run hostile -- [--seed N] [--cases N] [--minutes N] [--only PROVIDER] [--record]   (cases at each provider; it ends sooner after so many minutes)"
  )
  process.exit(2)
}

const putOnRecord = runRecorder("hostile", values.record)
const sums = new Map<string, Counts>()
const startedAt = Date.now()
const endsAt = minutes === 0 ? Number.POSITIVE_INFINITY : startedAt + minutes * 60_000
for (let from = first; from < first + cases && Date.now() < endsAt; from += AT_ONCE) {
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

const all = [...sums.values()]
const sumOf = (count: (one: Counts) => number) => all.reduce((sum, one) => sum + count(one), 0)
const figures = {
  cases: sumOf((one) => one.cases),
  moved: sumOf((one) => one.moved),
  vacuous: sumOf((one) => one.vacuous),
  faults: sumOf((one) => one.faults.length),
  seconds: Math.round((Date.now() - startedAt) / 1000)
}
console.log(JSON.stringify(figures))
putOnRecord(figures.faults === 0, figures)
process.exitCode = figures.faults > 0 ? 1 : 0

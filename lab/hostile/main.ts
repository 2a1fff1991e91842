import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { Effect, References, type Scope } from "effect"
import { EmbeddedPostgres } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import { knownSimulators } from "../../src/simulator/Registry.ts"
import type { KnownSimulator } from "../../src/simulator/SimulatorModule.ts"
import { databaseFolder } from "../../test/support/DatabaseFolder.ts"
import { runRecorder } from "../runs/Runs.ts"
import { AT_ONCE, openGround } from "./gateway/Ground.ts"
import { playTogether } from "./gateway/Play.ts"
import { type Counts, playedCases } from "./Play.ts"

// Plays cases of the hostile wire at every provider, by its adapter alone or with --gateway by a whole gateway on PostgreSQL, and prints what was
// wrong. With --record it is a line of docs/reliability/runs.jsonl.

/** A new simulator after so many cases: it keeps what it was told. */
const AT_ADAPTER = 500

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    cases: { type: "string", default: "1000" },
    minutes: { type: "string", default: "0" },
    only: { type: "string", default: "" },
    gateway: { type: "boolean", default: false },
    record: { type: "boolean", default: false }
  }
})
const [first = 0, cases = 0, minutes = 0] = [values.seed, values.cases, values.minutes].map(Number)
if (![first, cases, minutes].every((one) => Number.isSafeInteger(one) && one >= 0) || cases < 1) {
  console.error(
    "usage: npm run hostile -- [--gateway] [--seed N] [--cases N] [--minutes N] [--only PROVIDER] [--record]   (cases at each provider; it ends sooner after so many minutes)"
  )
  process.exit(2)
}

type Played = Pick<Counts, "provider" | "cases" | "moved" | "vacuous" | "faults"> & {
  /** By a whole gateway: charges that were disputed or refunded weeks later. */
  readonly claimed?: number
}
/** Plays some cases of every provider. */
type Player = (from: number, count: number) => Effect.Effect<ReadonlyArray<Played>, never, Scope.Scope>

const known = knownSimulators.filter(({ name }) => values.only === "" || name === values.only)

const byAdapter: Player = (from, count) =>
  Effect.forEach(known, (one) => playedCases(one, from, count), { concurrency: "unbounded" })

/** One database for all that is played, one provider after another: each tenant of a case has its float. */
const byGateway = Effect.gen(function* (): Effect.fn.Return<Player, never, Scope.Scope> {
  const dataDir = mkdtempSync(join(databaseFolder(), "hostile-"))
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(dataDir, { recursive: true, force: true })))
  const server = yield* Effect.orDie(EmbeddedPostgres.ensureRunning(dataDir, "off"))
  yield* Effect.addFinalizer(() => Effect.orDie(EmbeddedPostgres.stop(dataDir)))
  const ground = yield* Effect.provideService(openGround(EmbeddedPostgres.url(server)), References.MinimumLogLevel, "Warn")
  return (from, count) =>
    Effect.forEach(known, (one: KnownSimulator) => playTogether(ground, one, { first: from, cases: count, hasStories: false }))
})

const putOnRecord = runRecorder("hostile", values.record)
const sums = new Map<string, Played>()
const startedAt = Date.now()
const endsAt = minutes === 0 ? Number.POSITIVE_INFINITY : startedAt + minutes * 60_000

const add = (part: Played): void => {
  const before = sums.get(part.provider)
  sums.set(part.provider, {
    provider: part.provider,
    cases: (before?.cases ?? 0) + part.cases,
    moved: (before?.moved ?? 0) + part.moved,
    vacuous: (before?.vacuous ?? 0) + part.vacuous,
    claimed: (before?.claimed ?? 0) + (part.claimed ?? 0),
    faults: [...(before?.faults ?? []), ...part.faults]
  })
  for (const fault of part.faults) console.error(fault)
}

const run = Effect.gen(function* () {
  const play = values.gateway ? yield* byGateway : byAdapter
  const atOnce = values.gateway ? AT_ONCE : AT_ADAPTER
  for (let from = first; from < first + cases && Date.now() < endsAt; from += atOnce) {
    for (const part of yield* Effect.scoped(play(from, Math.min(atOnce, first + cases - from)))) add(part)
    const done = [...sums.values()].map((one) => `${one.provider} ${one.cases}, ${one.moved} moved, ${one.faults.length} wrong`)
    console.error(`so far: ${done.join("; ")}`)
  }
})
await Effect.runPromise(Effect.scoped(run))

const all = [...sums.values()]
const sumOf = (count: (one: Played) => number) => all.reduce((sum, one) => sum + count(one), 0)
const figures = {
  cases: sumOf((one) => one.cases),
  moved: sumOf((one) => one.moved),
  vacuous: sumOf((one) => one.vacuous),
  ...(values.gateway ? { claimed: sumOf(({ claimed = 0 }) => claimed) } : {}),
  faults: sumOf((one) => one.faults.length),
  seconds: Math.round((Date.now() - startedAt) / 1000)
}
console.log(JSON.stringify(figures))
putOnRecord(figures.faults === 0, figures)
process.exitCode = figures.faults > 0 ? 1 : 0

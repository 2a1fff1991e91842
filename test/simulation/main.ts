import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { Reactivity } from "effect/reactivity"
import { Database } from "../../src/persistence/Database.ts"
import { type EmbeddedDatabase, EmbeddedPostgres } from "../../src/persistence/EmbeddedPostgres.ts"
import { simulate } from "./Simulation.ts"

// Plays seeds until the first that fails, and says how to play that one again.

const usage = "npm run simulate -- [--seed N] [--steps N] [--seeds K]   (K = 0: for ever)"

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        seed: { type: "string", default: "1" },
        steps: { type: "string", default: "40" },
        seeds: { type: "string", default: "20" }
      }
    })
    const numbers = [values.seed, values.steps, values.seeds].map(Number)
    const [seed = 0, steps = 0, seeds = 0] = numbers
    if (!numbers.every((one) => Number.isSafeInteger(one) && one >= 0)) throw new Error("not a whole number")
    return { seed, steps, seeds: seeds === 0 ? Number.POSITIVE_INFINITY : seeds }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

const TEMPLATE = "simulation_template"

/** A database of its own for each seed: a copy of one that was migrated once. */
const copies = Effect.fnUntraced(function* (server: EmbeddedDatabase) {
  const url = (database: string) => EmbeddedPostgres.url({ ...server, database })
  const sql = yield* PgClient.makeClient({ url: EmbeddedPostgres.url(server) })
  yield* sql.unsafe(`CREATE DATABASE ${TEMPLATE}`)
  yield* Effect.provide(Database.migrate, Database.layer({ url: url(TEMPLATE) }))
  return (name: string) => Effect.orDie(Effect.as(sql.unsafe(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`), url(name)))
})

const play = Effect.gen(function* () {
  const dataDir = mkdtempSync(join(tmpdir(), "simulation-"))
  const server = yield* EmbeddedPostgres.ensureRunning(dataDir, "off")
  yield* Effect.addFinalizer(() => Effect.orDie(EmbeddedPostgres.stop(dataDir)))
  const copy = yield* copies(server)
  const totals = { seeds: 0, operations: 0, crashes: 0, movements: 0, reviewed: 0 }
  for (let seed = options.seed; seed < options.seed + options.seeds; seed++) {
    const { faults, ...played } = yield* simulate(seed, options.steps, copy(`seed_${seed}`))
    totals.seeds++
    totals.operations += played.operations
    totals.crashes += played.crashes
    totals.movements += played.movements
    totals.reviewed += played.reviewed
    if (faults.length === 0) continue
    console.log(`FAILED: npm run simulate -- --seed ${seed} --steps ${options.steps} --seeds 1`)
    for (const fault of faults) console.log(`  ${fault}`)
    process.exitCode = 1
    break
  }
  console.log(JSON.stringify(totals))
})

await Effect.runPromise(play.pipe(Effect.scoped, Effect.provide(Reactivity.layer)))

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Cause, Effect, Exit, Fiber, Queue, References } from "effect"
import { EmbeddedPostgres } from "../../src/persistence/postgres/EmbeddedPostgres.ts"
import type { Answer, Question } from "./Players.ts"
import { simulate } from "./Simulation.ts"
import { makeTestbed } from "./Testbed.ts"

// A process that plays the stories which its parent names, one after another, until that lets go of it.

const answer = (one: Answer): void => void process.send?.(one)

const play = Effect.gen(function* () {
  const dataDir = mkdtempSync(join(tmpdir(), "simulation-"))
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(dataDir, { recursive: true, force: true })))
  const server = yield* EmbeddedPostgres.ensureRunning(dataDir, "off")
  yield* Effect.addFinalizer(() => Effect.orDie(EmbeddedPostgres.stop(dataDir)))
  const testbed = yield* Effect.provideService(makeTestbed(EmbeddedPostgres.url(server)), References.MinimumLogLevel, "Warn")
  const asked = yield* Queue.unbounded<Question>()
  process.on("message", (question: Question) => void Queue.offerUnsafe(asked, question))
  answer({ _tag: "Ready" })
  while (true) {
    const { seed, steps } = yield* Queue.take(asked)
    answer({ _tag: "Played", seed, outcome: yield* simulate(seed, steps, testbed) })
  }
})

const playing = Effect.runFork(Effect.scoped(play))
// Its database is stopped, however the run ends. A terminal interrupts the whole group, and the parent lets go.
process.on("SIGINT", () => {})
for (const end of ["SIGTERM", "disconnect"] as const) process.on(end, () => Effect.runFork(Fiber.interrupt(playing)))
const exit = await Effect.runPromise(Fiber.await(playing))
if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
  console.error(Cause.pretty(exit.cause))
  process.exitCode = 1
}
if (process.connected) process.disconnect()

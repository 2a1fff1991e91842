import cluster from "node:cluster"
import { Deferred, Effect, Option, type Scope } from "effect"
import { type Answering, answering, type Conversation, makeConversation } from "./Conversation.ts"
import { ofPrimary, ofWorkers } from "./Questions.ts"
import { variablesOf, type WorkerSlot } from "./WorkerSlot.ts"

/** Where the workers of a machine take requests. */
export interface ServedAt {
  readonly url: string
  readonly consoleUrl: string | null
}

/** A worker is asked so often whether it lives, and killed when it has not answered for so long. */
const ASKED_EVERY_MS = 5_000
const SILENT_AT_MOST_MS = 30_000
/** What is killed is gone at once. */
const KILLED_WITHIN = "5 seconds"

/** Why a worker could not start: what it said, or how its process ended. */
export interface NotStarted {
  readonly reasons: ReadonlyArray<string>
}

/** One process, from its start to its end. */
export interface WorkerLife {
  readonly number: number
  readonly ask: Conversation["ask"]
  /** True from when it takes requests until it has ended. */
  readonly isServing: () => boolean
  readonly served: Effect.Effect<ServedAt, NotStarted>
  /** How it ended. */
  readonly ended: Effect.Effect<string>
  readonly tell: (signal: "SIGTERM" | "SIGKILL") => void
}

/** Starts a worker process. It is killed when the scope closes, if it has not ended by then. */
export const beginWorkerLife = Effect.fnUntraced(function* (
  slot: WorkerSlot,
  answers: ReadonlyArray<Answering>
): Effect.fn.Return<WorkerLife, never, Scope.Scope> {
  const served = yield* Deferred.make<ServedAt, NotStarted>()
  const ended = yield* Deferred.make<string>()
  let isServing = false
  let said = ""
  const worker = cluster.fork(variablesOf(slot))
  const hears = [
    ...answers,
    answering(ofWorkers.ready, (at) =>
      Effect.suspend(() => {
        isServing = true
        return Effect.as(Deferred.succeed(served, at), null)
      })
    ),
    answering(ofWorkers.failed, (reasons) => {
      said = `, ${reasons.join("; ")}`
      return Effect.as(Deferred.fail(served, { reasons }), null)
    })
  ]
  // A message to a process that has just gone is lost, as it is.
  const { ask, hear } = yield* makeConversation((message) => worker.isConnected() && worker.send(message, () => {}), hears)
  worker.on("message", hear)
  worker.on("error", () => {})
  worker.once("exit", (code, signal) => {
    isServing = false
    const how = signal === null ? `exit code ${code}` : signal
    Deferred.doneUnsafe(ended, Effect.succeed(how + said))
    Deferred.doneUnsafe(served, Effect.fail({ reasons: [`worker ${slot.number} ended before it took requests (${how})`] }))
  })
  const tell = (signal: "SIGTERM" | "SIGKILL") => void worker.process.kill(signal)
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      if (worker.isDead()) return Effect.void
      tell("SIGKILL")
      return Effect.timeoutOption(Deferred.await(ended), KILLED_WITHIN)
    })
  )
  yield* Effect.forkScoped(killSilent(ask, tell))
  return {
    number: slot.number,
    ask,
    isServing: () => isServing,
    served: Deferred.await(served),
    ended: Deferred.await(ended),
    tell
  }
})

/** A process that stands still holds its connections and answers none of them. */
const killSilent = Effect.fnUntraced(function* (ask: Conversation["ask"], tell: WorkerLife["tell"]) {
  let silentMs = 0
  while (silentMs < SILENT_AT_MOST_MS) {
    yield* Effect.sleep(ASKED_EVERY_MS)
    silentMs = Option.isSome(yield* ask(ofPrimary.alive, null)) ? 0 : silentMs + ASKED_EVERY_MS
  }
  yield* Effect.logError("a worker has not answered for half a minute: it is killed")
  tell("SIGKILL")
})

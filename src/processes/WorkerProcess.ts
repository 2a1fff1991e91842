import cluster from "node:cluster"
import { Effect, Layer, type Scope } from "effect"
import { ManagementAddress, type ManagementListener } from "../observability/Management.ts"
import { makeStanding, type Standing, type StandingOptions } from "../observability/Standing.ts"
import { CircuitStates } from "../services/ports/CircuitStates.ts"
import { answering, makeConversation } from "./Conversation.ts"
import { ofPrimary, ofWorkers } from "./Questions.ts"
import { makeSharedCircuits } from "./SharedCircuits.ts"
import { sharedRateLimits } from "./SharedRateLimits.ts"
import type { ServedAt } from "./WorkerLife.ts"
import type { WorkerSlot } from "./WorkerSlot.ts"

/** A process that has lost its primary, and does not end by itself, ends after this. */
const END_WITHIN_MS = 45_000

/** True in a process that another has started to take requests with it. */
export const isWorkerProcess = cluster.isWorker

/**
 * A worker's end of the conversation with the primary process: what they share, and how the worker tells how it stands. A primary that has gone
 * takes the port with it; the worker then drains as if it were told to stop.
 */
export const joinFleet = Effect.fnUntraced(function* ({ workers }: WorkerSlot) {
  let standing: Standing | null = null
  const circuits = makeSharedCircuits()
  const conversation = yield* makeConversation(say, [
    circuits.heard,
    answering(ofPrimary.alive, () => Effect.succeed(null)),
    answering(ofPrimary.obstacle, () => standing?.obstacle ?? Effect.succeed("the worker is starting")),
    answering(ofPrimary.metrics, (reads) => standing?.metrics(reads) ?? Effect.succeed(""))
  ])
  yield* listening(conversation.hear)
  const { ask } = conversation

  return {
    limits: sharedRateLimits(conversation, workers),
    circuits: Layer.sync(CircuitStates, () => CircuitStates.of(circuits.statesOf(conversation))),
    /** In place of a listener of its own: the primary process has one for all. */
    management: ({ host, port, ...options }: ManagementListener & StandingOptions) =>
      Layer.effect(
        ManagementAddress,
        Effect.map(makeStanding(options), (made) => {
          standing = made
          return { host, port }
        })
      ),
    tellServed: (at: ServedAt) => Effect.asVoid(ask(ofWorkers.ready, at)),
    /** Ends this process once the primary, which speaks for all of them, has heard why. */
    giveUp: (reasons: ReadonlyArray<string>): Effect.Effect<never> =>
      Effect.andThen(
        ask(ofWorkers.failed, reasons),
        Effect.sync(() => process.exit(1))
      )
  }
})

const say = (message: object): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}

const listening = (hear: (message: unknown) => void): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      // Else Node ends the process at once, and with it the requests that it works on.
      if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true
      process.on("message", hear)
      process.once("disconnect", endAlone)
    }),
    () => Effect.sync(() => process.off("message", hear))
  )

const endAlone = (): void => {
  process.kill(process.pid, "SIGTERM")
  setTimeout(() => process.exit(1), END_WITHIN_MS).unref()
}

import { Clock, Effect } from "effect"
import type { CircuitPolicy } from "../domain/CircuitBreaker.ts"
import { countingHere } from "../persistence/RateLimitsMemory.ts"
import type { CircuitKey, EndCall } from "../services/ports/CircuitStates.ts"
import { circuitsHere, nameOf } from "../services/routing/CircuitsHere.ts"
import { type Answering, answering } from "./Conversation.ts"
import { ofWorkers } from "./Questions.ts"

interface TouchedLine {
  readonly line: CircuitKey
  readonly isUntouched: boolean
}

/** The part of one worker, for as long as it lives. */
export interface WorkerShare {
  readonly answers: ReadonlyArray<Answering>
  /** Its calls under way end with it: a circuit must not wait for the trial of a process that is no more. */
  readonly end: Effect.Effect<void>
}

/**
 * What the workers of a machine count together, in the memory of the primary process: the tokens of rate limits, and the circuits.
 * Time is the `clock`'s. `onLine` is told each line on which a call fails first, and each on which calls are answered again.
 */
export const makeSharedCounts = (clock: Clock.Clock, circuit: CircuitPolicy, onLine: (line: TouchedLine) => void) => {
  const buckets = countingHere()
  const touched = new Map<string, TouchedLine>()
  const circuits = circuitsHere(circuit, (line, isUntouched) => {
    if (isUntouched) touched.delete(nameOf(line))
    else touched.set(nameOf(line), { line, isUntouched })
    onLine({ line, isUntouched })
  })
  const onTime = Effect.provideService(Clock.Clock, clock)

  const forWorker = (): WorkerShare => {
    const calls = new Map<number, EndCall>()
    const answers = [
      answering(ofWorkers.take, ({ bucket, limit, tokens }) => buckets.take(bucket, limit, tokens)),
      answering(ofWorkers.giveBack, ({ bucket, limit, tokens }) => Effect.as(buckets.giveBack(bucket, limit, tokens), null)),
      answering(ofWorkers.reserve, ({ bucket, limit, longestMs }) => buckets.reserve(bucket, limit, longestMs)),
      answering(ofWorkers.close, ({ bucket, forMs, limit }) => Effect.as(buckets.close(bucket, limit, forMs), null)),
      answering(ofWorkers.beginCall, ({ call, line, tenant }) =>
        Effect.map(circuits.begin(line, tenant), (end) => {
          if (end !== null) calls.set(call, end)
          return end !== null
        })
      ),
      answering(ofWorkers.endCall, ({ call, line, tenant, verdict }) =>
        Effect.gen(function* () {
          const end = call === null ? undefined : calls.get(call)
          if (call !== null) calls.delete(call)
          yield* end?.(verdict) ?? circuits.ended(line, tenant, verdict)
          return null
        })
      ),
      answering(ofWorkers.isOpen, ({ line, tenant }) => circuits.isOpen(line, tenant)),
      answering(ofWorkers.standing, circuits.standing)
    ]
    const end = Effect.suspend(() => Effect.forEach([...calls.values()], (abandon) => abandon("abandoned"), { discard: true }))
    const timed = ({ answer, name }: Answering): Answering => ({ name, answer: (asked) => onTime(answer(asked)) })
    return { answers: answers.map(timed), end: onTime(end) }
  }

  return { forWorker, touched: Effect.sync((): ReadonlyArray<TouchedLine> => [...touched.values()]) }
}

import { Clock, Context, Effect, Exit, Latch } from "effect"
import { ActingTenant, inTurn, isPatient, makeTurn, type Turn, waitedMs } from "../../runtime/CallTurn.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { makeTimer, monotonicClock } from "../../runtime/Timer.ts"
import { Policy } from "../ports/Policy.ts"
import { SharedLateCalls } from "../ports/SharedLateCalls.ts"
import { type BegunCall, type CallVerdict, type CircuitKey, circuitStates, type HeldBack } from "./CircuitStates.ts"

/** How the result of a call counts for its circuit, and what replaces the call while the circuit is open. */
export interface CircuitCall<A, E> {
  readonly call: Effect.Effect<A, E>
  readonly verdict: (exit: Exit.Exit<A, E>) => CallVerdict
  readonly instead: Effect.Effect<A, E>
}

/**
 * The circuit breakers for calls to providers, per tenant. They are in memory: each process decides for itself, but processes
 * share their late calls. An open circuit prevents new calls and does not affect calls in progress.
 */
export class Circuits extends Context.Service<
  Circuits,
  {
    /** Whether a call that begins now, for the current tenant, would be held back. */
    readonly isOpen: (line: CircuitKey) => Effect.Effect<boolean>
    /** The tenants whose calls are held back or wait for the trial call. */
    readonly standing: (line: CircuitKey) => Effect.Effect<HeldBack>
    readonly through: <A, E>(line: CircuitKey, wish: CircuitCall<A, E>) => Effect.Effect<A, E>
  }
>()("gateway/services/Circuits") {
  static readonly layer = layerOf(Circuits)(function* () {
    const { circuit, providerTimeoutMs } = yield* Policy
    const states = circuitStates(circuit, providerTimeoutMs * LONGEST_USUAL_SHARE, yield* Clock.Clock)
    const [clock, timer] = [yield* monotonicClock, yield* makeTimer]
    const share = yield* makeSharing(states)

    /**
     * Counts a call as late, once, when it passes its usual time. Its wait for our own pace does not count. The returned function
     * ends the watch.
     */
    const watch = (begun: BegunCall, turn: Turn, startedAt: number, run: (late: Effect.Effect<void>) => unknown) => {
      const look = () => {
        const now = clock()
        const left = begun.lateAfterMs - (now - startedAt - waitedMs(turn, now))
        if (left > 0) stop = timer(Math.max(left, SHORTEST_LOOK_MS), look)
        else run(Effect.andThen(begun.late, share))
      }
      let stop = timer(begun.lateAfterMs, look)
      return () => stop()
    }

    const through = <A, E>(line: CircuitKey, { call, instead, verdict }: CircuitCall<A, E>): Effect.Effect<A, E> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const begun = states.begin(line, yield* ActingTenant)
          if (begun === null) return yield* instead
          const turn = makeTurn(yield* isPatient)
          const startedAt = clock()
          const endWatch = watch(begun, turn, startedAt, Effect.runForkWith(yield* Effect.context<never>()))
          const exit = yield* Effect.exit(restore(inTurn(call, turn)))
          endWatch()
          const endedAt = clock()
          const isAbandoned = Exit.isFailure(exit) && Exit.hasInterrupts(exit)
          const said = verdict(exit)
          // A call rejected by the pace is neither a failure nor an answer, nor is one that the gateway held back.
          const isNone = (turn.away !== null || turn.isHeldBack) && said !== "answered"
          yield* begun.end(isNone || (said === "answered" && isAbandoned) ? "abandoned" : said, {
            note: noteOf(exit),
            tookMs: endedAt - startedAt - waitedMs(turn, endedAt)
          })
          return yield* exit
        })
      )

    return {
      isOpen: (line) => Effect.map(ActingTenant, (tenant) => states.isOpen(line, tenant)),
      standing: states.standing,
      through
    }
  })
}

/** A call is late at this share of its time limit, whatever is usual: the rest is the gain of detecting it. */
const LONGEST_USUAL_SHARE = 2 / 3
/** The minimum interval for rechecking a call that waits for our own pace. */
const SHORTEST_LOOK_MS = 10
/** How often nodes share their late calls, while there are any. */
const SHARED_EVERY_MS = 250

/**
 * While any call is late here, a background fiber shares this node's late calls with the other nodes and counts theirs. It
 * belongs to no request, so its spans and log lines name none.
 */
const makeSharing = Effect.fnUntraced(function* (states: ReturnType<typeof circuitStates>) {
  const { exchange } = yield* SharedLateCalls
  const wanted = yield* Latch.make()

  const round = Effect.gen(function* () {
    const mine = yield* states.late
    const exit = yield* Effect.exit(exchange(mine))
    // Optional: each node counts its own calls in any case.
    if (Exit.isFailure(exit)) yield* Effect.logWarning("late calls could not be shared with the other nodes", exit.cause)
    else yield* states.countElsewhere(exit.value)
    return mine.length > 0
  })
  const rounds = Effect.gen(function* () {
    yield* wanted.await
    // Closed before the round, so that a call that becomes late from now on opens it again.
    yield* wanted.close
    while (yield* round) yield* Effect.sleep(SHARED_EVERY_MS)
  })
  yield* Effect.forkScoped(Effect.forever(rounds))
  return wanted.open
})

/** The note of a money call's outcome: a status word, a code, or a connection error. A read has none. */
const noteOf = (exit: Exit.Exit<unknown, unknown>): string => {
  const value = Exit.isSuccess(exit) ? exit.value : null
  return typeof value === "object" && value !== null && "note" in value && typeof value.note === "string" ? value.note : ""
}

import { Effect, Fiber, Option } from "effect"
import { elapsed } from "../../runtime/Elapsed.ts"

/**
 * Questions that are asked again and again, of which none may hold up who asks. An answer that is late is kept, and is the answer to the same question
 * the next time; one that was late the last time is not waited for at all.
 */
export const lateAnswers = Effect.fnUntraced(function* <A>(withinMs: number) {
  const scope = yield* Effect.scope
  const underWay = new Map<string, Fiber.Fiber<A>>()
  const slow = new Set<string>()

  /** None where there is no answer yet, and then `late` is run if the answers to this question begin to be late. */
  const soon = Effect.fnUntraced(function* (
    question: string,
    ask: Effect.Effect<A>,
    late: Effect.Effect<void>
  ): Effect.fn.Return<Option.Option<A>> {
    const asked = underWay.get(question)
    if (asked !== undefined) {
      const exit = asked.pollUnsafe()
      if (exit === undefined) return Option.none()
      underWay.delete(question)
      return Option.some(yield* exit)
    }
    const askedAt = yield* elapsed
    const timed = Effect.tap(ask, () =>
      Effect.map(elapsed, (now) => {
        if (now - askedAt < withinMs) slow.delete(question)
      })
    )
    const fiber = yield* Effect.forkIn(timed, scope, { startImmediately: true })
    if (!slow.has(question)) {
      const answer = yield* Effect.timeoutOption(Fiber.join(fiber), withinMs)
      if (Option.isSome(answer)) return answer
      slow.add(question)
      yield* late
    }
    underWay.set(question, fiber)
    return Option.none()
  })

  return { soon }
})

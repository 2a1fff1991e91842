import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { serverPlaces } from "../../src/persistence/ServerPlaces.ts"

const givenPlaces = () => {
  const silent = new Set<string>()
  const places = serverPlaces((server) => silent.has(server))
  const fallSilent = (server: string) => {
    silent.add(server)
    places.refuseWaiting(server)
  }
  return { silent, within: places.within, fallSilent }
}

const forked = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })

it.effect("of a server that hangs a few statements are under way, and none of another server waits for them", () =>
  Effect.gen(function* () {
    const { within } = givenPlaces()
    const answered = yield* Deferred.make<void>()
    let begun = 0
    const hanging = Effect.andThen(
      Effect.sync(() => ++begun),
      Deferred.await(answered)
    )
    const all = yield* Effect.forEach(Array.from({ length: 12 }), () => forked(within("one")(hanging)))
    expect(begun).toBe(4)
    expect(yield* within("two")(Effect.succeed("other"))).toBe("other")
    yield* Deferred.succeed(answered, undefined)
    yield* Fiber.awaitAll(all)
    expect(begun).toBe(12)
    // Each place was given back once.
    const again = yield* Deferred.make<void>()
    begun = 0
    const later = Effect.andThen(
      Effect.sync(() => ++begun),
      Deferred.await(again)
    )
    const more = yield* Effect.forEach(Array.from({ length: 12 }), () => forked(within("one")(later)))
    expect(begun).toBe(4)
    yield* Deferred.succeed(again, undefined)
    yield* Fiber.awaitAll(more)
  })
)

it.effect("who waits for a place is refused when the server falls silent, and nothing is sent to it until it answers", () =>
  Effect.gen(function* () {
    const { fallSilent, silent, within } = givenPlaces()
    const hanging = yield* Effect.forEach(Array.from({ length: 4 }), () => forked(within("one")(Effect.never)))
    const waiting = yield* forked(within("one")(Effect.succeed("sent")))
    // One whose caller has gone is nobody's turn.
    yield* Fiber.interrupt(yield* forked(within("one")(Effect.succeed("sent"))))
    fallSilent("one")
    expect(Exit.isFailure(yield* Fiber.await(waiting))).toBe(true)
    expect(Exit.isFailure(yield* Effect.exit(within("one")(Effect.succeed("sent"))))).toBe(true)
    silent.clear()
    yield* Fiber.interruptAll(hanging)
    expect(yield* within("one")(Effect.succeed("sent"))).toBe("sent")
  })
)

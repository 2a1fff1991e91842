import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { serverSlots } from "../../../src/persistence/connection/ServerSlots.ts"

const givenPlaces = (...servers: ReadonlyArray<string>) => {
  const silent = new Set<string>()
  const places = serverSlots(
    (server) => silent.has(server),
    () => new Set(servers)
  )
  const fallSilent = (server: string) => {
    silent.add(server)
    places.refuseWaiting(server)
  }
  return { silent, within: places.within, fallSilent }
}

const forked = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })

it.effect("of a server that hangs a few statements are under way, and none of another server waits for them", () =>
  Effect.gen(function* () {
    const { within } = givenPlaces("one", "two")
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
    const { fallSilent, silent, within } = givenPlaces("one", "two")
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

/** How many of twelve statements that are never answered are sent to each of these servers, one server after another. */
const sentToHanging = Effect.fnUntraced(function* (servers: ReadonlyArray<string>, hanging: ReadonlyArray<string>) {
  const { within } = givenPlaces(...servers)
  return yield* Effect.forEach(hanging, (server) =>
    Effect.gen(function* () {
      let sent = 0
      const statement = Effect.andThen(
        Effect.sync(() => ++sent),
        Effect.never
      )
      yield* Effect.forEach(Array.from({ length: 12 }), () => forked(within(server)(statement)))
      return sent
    })
  )
})

it.effect("servers that hang leave every other one its share, however many there are", () =>
  Effect.gen(function* () {
    expect(yield* sentToHanging(["one", "two"], ["one", "two"])).toEqual([4, 4])
    expect(yield* sentToHanging(["one", "two", "three"], ["one", "two", "three"])).toEqual([4, 2, 2])
    expect(yield* sentToHanging(["one", "two", "three", "four"], ["one", "two"])).toEqual([2, 2])
    const many = Array.from({ length: 12 }, (_, at) => `server ${at}`)
    expect(yield* sentToHanging(many, many.slice(0, 7))).toEqual([1, 1, 1, 1, 1, 1, 1])
  })
)

it.effect("what is asked of every server leaves places of each to requests", () =>
  Effect.gen(function* () {
    const { within } = givenPlaces("one", "two")
    yield* Effect.forEach(Array.from({ length: 12 }), () => forked(within("one", "background")(Effect.never)))
    expect(yield* within("one")(Effect.succeed("sent"))).toBe("sent")
    // What all tenants share has no server of tenants.
    yield* Effect.forEach(Array.from({ length: 12 }), () => forked(within("coordinator", "background")(Effect.never)))
    expect(yield* within("coordinator")(Effect.succeed("sent"))).toBe("sent")
  })
)

it.effect("what is asked of every server leaves a place to the requests of each, also where there are four", () =>
  Effect.gen(function* () {
    const { within } = givenPlaces("one", "two", "three", "four")
    for (const server of ["one", "two", "three", "four"])
      yield* Effect.forEach(Array.from({ length: 3 }), () => forked(within(server, "background")(Effect.never)))
    expect(yield* within("one")(Effect.succeed("sent"))).toBe("sent")
  })
)

it.effect("a place is given back whenever its statement is interrupted, also before it was sent", () =>
  Effect.gen(function* () {
    const { within } = givenPlaces("one", "two")
    for (let at = 0; at < 64; at++) {
      const one = yield* Effect.forkChild(within("one")(Effect.never))
      if (at % 2 === 0) yield* Effect.yieldNow
      yield* Fiber.interrupt(one)
    }
    expect(yield* within("one")(Effect.succeed("sent"))).toBe("sent")
  })
)
